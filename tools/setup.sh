# shellcheck shell=bash disable=SC2034
# What ./quickstart and ./check need from Debian, in one place, and how it gets there. To be sourced.

# To build and run. (By dpkg-dev meson learns where Debian keeps libraries; without it they go where CMake does not look.)
build_packages=(
  g++ dpkg-dev meson ninja-build pkg-config
  liburing-dev libfmt-dev libhwloc-dev libcli11-dev nlohmann-json3-dev doctest-dev libpng-dev libfftw3-dev
  libibverbs-dev libpmix-dev libxxhash-dev libotf2-trace-dev
)

# The LLVM to check with: 16 is the last that Debian 12 has; Debian 13 has 19, and none of 16.
llvm=16
debian=$(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_ID-}") || debian=
[[ ! $debian =~ ^[0-9]+$ ]] || ((debian < 13)) || llvm=19

# To check: the second compiler and its sanitizers, the formatter, the linter, what the install test builds with, and the
# emulated machine with RDMA (tests/guest).
check_packages=(
  ccache cmake "clang-$llvm" "clang-tidy-$llvm" "libclang-rt-$llvm-dev" "llvm-$llvm" shellcheck universal-ctags util-linux
  busybox-static cpio gdb gfortran ibverbs-providers ibverbs-utils iproute2 kmod libopenmpi-dev openmpi-bin procps
  otf2-tools qemu-system-x86 tmux
)
((llvm != 16)) || check_packages+=(clang-format-16)  # the one whose layout of lines counts

# Programs of MPI that Debian has for Open MPI (tests/mpi/debian-programs).
mpi_packages=(hpcc lammps lammps-examples netpipe-openmpi openmpi-bin python3-mpi4py scalapack-mpi-test)

# To build for arm64, and to run that (tests/arm64).
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static util-linux)

# missing_packages NAME...: prints those that are not installed, one per line.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

# as_root COMMAND...: runs it as root, through sudo where needed. Status 126 where neither is to be had.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    return 126
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# install_missing NAME...: installs those packages that are not there, and touches nothing else: no call to apt, hence no
# network, where all of them are. The package lists are fetched only when what they say is not enough.
install_missing() {
  if ! command -v dpkg-query >/dev/null; then
    printf 'This is not Debian: install what these packages hold by other means: %s\n' "$*" >&2
    return 1
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    printf 'Packages are missing, and installing them needs root or sudo. As root, run:\n  apt-get install %s\n' \
      "${missing[*]}" >&2
    return 1
  fi
  printf 'Installing: %s\n' "${missing[*]}"
  if apt-cache show "${missing[@]}" >/dev/null 2>&1 && apt_install "${missing[@]}"; then
    return 0
  fi
  as_root apt-get update -o DPkg::Lock::Timeout=300 </dev/null && apt_install "${missing[@]}"
}
