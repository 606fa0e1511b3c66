# Tangram on one machine: `make run` and `make test` are all a newcomer needs.
SHELL := /bin/bash
BUILD_JOBS ?= $(shell nproc)
# Caches live outside the tree, so that a clean checkout builds warm.
export CCACHE_DIR ?= $(HOME)/.cache/tangram/ccache

.PHONY: help run stop kube kube-stop test setup build lint bench clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: ## install what is missing, build, and start Tangram on the simulated machine (MACHINE=one-310p3: on another)
	@echo "run: looking for Debian packages that are missing"
	@tools/setup.sh tools/packages.txt
	@echo "run: building in build/release; the first time takes some minutes"
	@tools/build.sh release
	@tools/run.sh start

stop: ## stop what `make run` started (with the same MACHINE); its state is kept
	@tools/run.sh stop

kube: ## start a real Kubernetes on a simulated machine; as root (tests/kube/README.md)
	@tools/setup.sh tools/packages.txt tools/packages-kube.txt
	@tools/build.sh release
	@tests/kube/build.py
	@TANGRAM_BUILD=build/release tests/kube/by_hand.py start

kube-stop: ## stop what `make kube` started
	@tests/kube/by_hand.py stop

test: setup ## build and run every test
	@tools/build.sh dev
	@tools/test.sh dev

setup: ## install the Debian packages that are missing
	@tools/setup.sh tools/packages.txt

build: setup ## build for development (build/dev)
	@tools/build.sh dev

lint: ## clang-format, clang-tidy and the rules of the tree
	@tools/setup.sh tools/packages.txt tools/packages-ci.txt
	@tools/lint.sh

bench: ## build and run the benchmarks
	@tools/setup.sh tools/packages.txt tools/packages-ci.txt
	@tools/build.sh bench
	@bench/run.sh

clean: ## remove what was built
	rm -rf build
