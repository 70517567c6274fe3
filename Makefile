# Each recipe is one call of Python, and make.py holds the work, so that the GNU make 3.81 and the bash 3.2 of macOS do.
# Another Python: `make PYTHON=/path/to/python3.12 run`. Words for the program behind: `make test ARGS="-k charts"`.

TARGETS = help run test check test-slow bench build serve wheel wheel-test setup clean

# A name may exist and still not run (a pyenv shim without its version), so each candidate is asked for its version.
PYTHON := $(shell for python in python3.13 python3.12 python3.14 python3.11 python3; do \
  if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; \
  then echo "$$python"; break; fi; done)

.NOTPARALLEL: # two targets share one .venv
.PHONY: $(TARGETS)
$(TARGETS):
	@$(if $(PYTHON),exec "$(PYTHON)" make.py $@ $(ARGS),cat docs/python.txt >&2; exit 1)
