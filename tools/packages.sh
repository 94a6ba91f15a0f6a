# The Debian 12 packages that Locket needs, by purpose, and their installation; sourced by scripts.

# What builds and runs the example: nothing for tests.
packages_example=(
  bazel-bootstrap bazel-rules-cc bazel-rules-java bazel-rules-proto bazel-skylib
  g++ pkg-config
  protobuf-compiler libprotobuf-dev libprotoc-dev libabsl-dev
)

# Besides, what builds and runs tests and benchmarks.
packages_test=(
  libgtest-dev libgmock-dev libbenchmark-dev
  libgrpc++-dev protobuf-compiler-grpc
  python3 util-linux
)

# Besides, what the clang, sanitizer and fuzz configurations, the format check and clang-tidy take.
packages_check=(
  clang lld llvm libclang-rt-14-dev clang-format clang-tidy
)

# missing_packages GROUP...: those of the groups that are not installed, one a line.
missing_packages() {
  local group package
  for group; do
    local -n list="packages_$group"
    for package in "${list[@]}"; do
      [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>&1) == installed ]] ||
        echo "$package"
    done
  done
}

# install_packages PACKAGE...: as root installs them; else says which command would, and fails.
install_packages() {
  (($# > 0)) || return 0
  if ((EUID != 0)); then
    echo "Debian packages are missing. As root:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends $*" >&2
    return 1
  fi
  echo "Installing Debian packages, with what they need in turn: $*"
  apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends -qq "$@" > /dev/null
}

# need_packages GROUP...: installs what is missing of the groups, or fails.
need_packages() {
  if ! command -v dpkg-query > /dev/null; then
    echo "This is not Debian: what stands in for its packages (tools/packages.sh) must be there." >&2
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  install_packages "${missing[@]}"
}
