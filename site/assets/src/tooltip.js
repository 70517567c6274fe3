// The note beside the pointer. Everything in it is contributed text: it enters as text nodes, never as markup.

let box; // one for the whole page

/** Vega's tooltip handler: shows the value, an object of labels and texts, or hides the box for an empty one. */
export function tooltip(_handler, event, _item, value) {
  if (value === null || value === undefined || value === "") {
    if (box) box.hidden = true;
    return;
  }
  box ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "mm-tip" }));
  box.replaceChildren(...lines(value));
  box.hidden = false;
  place(event);
}

/** A description list of an object, or the plain text of anything else. */
function lines(value) {
  if (typeof value !== "object") return [document.createTextNode(String(value))];
  const list = document.createElement("dl");
  for (const [label, text] of Object.entries(value)) {
    if (text === null || text === undefined || text === "") continue;
    list.append(
      Object.assign(document.createElement("dt"), { textContent: label }),
      Object.assign(document.createElement("dd"), { textContent: String(text) }),
    );
  }
  return [list];
}

/** Keeps the box beside the pointer and inside the window. */
function place(event) {
  const gap = 14;
  const { offsetWidth: width, offsetHeight: height } = box;
  const right = event.clientX + gap + width <= document.documentElement.clientWidth;
  const left = right ? event.clientX + gap : Math.max(4, event.clientX - gap - width);
  const below = event.clientY + gap + height <= window.innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${below ? event.clientY + gap : Math.max(4, event.clientY - gap - height)}px`;
}
