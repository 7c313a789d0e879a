# run · test · lint · bench: each does all the set-up it needs.

.PHONY: setup run test lint bench

setup:
	@scripts/setup run

# The server with a data folder in the working directory.
run: setup
	cargo run --release -p windlass -- serve --data-dir data $(ARGS)

# Everything that must hold. Prints the time of each suite.
test:
	@scripts/setup test
	@scripts/test

lint: setup
	@scripts/lint

# Measures beside a baseline in the same run; writes JSON to bench/results/.
bench:
	@scripts/setup bench
	@scripts/bench
