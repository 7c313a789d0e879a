# run · demo · test · test-long · fuzz · lint · bench: each does all the set-up it needs.

.PHONY: setup run demo test test-long fuzz lint bench

setup:
	@scripts/setup run

# The server with a data folder in the working directory.
run: setup
	cargo run --release -p windlass -- serve --data-dir data $(ARGS)

# A server of its own that deploys and serves an application from examples/, and is left running.
demo: setup
	cargo build --release -p windlass
	@scripts/demo

# Everything that must hold. Prints the time of each suite.
test:
	@scripts/setup test
	@scripts/test

# What takes too long for every change; before a release.
test-long:
	@scripts/setup test
	@scripts/test-long

# Ten minutes of values that no test has thought of.
fuzz:
	@scripts/setup test
	@scripts/fuzz

lint:
	@scripts/setup lint
	@scripts/lint

# Measures beside a baseline in the same run; writes JSON to bench/results/.
bench:
	@scripts/setup bench
	@scripts/bench
