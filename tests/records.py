"""Records of any type with any values, for tests of what keeps them."""

import types
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Meta, Struct

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def records(struct: type[Struct]) -> st.SearchStrategy[Any]:
    """Records of a type with any value in any field, fields that come later included."""
    hints = get_type_hints(struct, include_extras=True)
    return st.builds(struct, **{name: values(hint) for name, hint in hints.items()})


# One text for each pattern that a field checks.
MATCHING = {"^[a-z0-9-]{2,60}$": "toy-infer", "^[a-z]{2,10}$": "mps", "^[0-9a-f]{16}$": "0123456789abcdef"}


def values(hint: Any, least: int = -(2**40), most: int = 2**40) -> st.SearchStrategy[Any]:
    """Any value that a field of this type may hold."""
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        metas = [meta for meta in arguments[1:] if isinstance(meta, Meta)]
        for meta in metas:
            if meta.pattern is not None:
                return st.just(MATCHING[meta.pattern.removesuffix(r"(?!\n)")])
            least = least if meta.ge is None else int(meta.ge)
            least = least if meta.gt is None else int(meta.gt) + 1
            most = most if meta.le is None else int(meta.le)
        return values(arguments[0], least, most)
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of(*(st.none() if one is type(None) else values(one, least, most) for one in arguments))
    if get_origin(hint) is tuple:
        several = st.lists(values(arguments[0]), max_size=3).map(tuple)
        return several if arguments[-1] is Ellipsis else st.tuples(*map(values, arguments))
    if get_origin(hint) is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    return plain(hint, least, most)


def plain(hint: Any, least: int, most: int) -> st.SearchStrategy[Any]:
    """Any value of a type without parts."""
    if issubclass(hint, Struct):
        return records(hint)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    table = {
        bool: st.booleans(),
        int: st.integers(least, most),
        float: st.floats(max(least, -1e9), min(most, 1e9)),
        str: TEXT,
    }
    return table[hint]
