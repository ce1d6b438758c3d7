# shellcheck shell=bash
# What programs for arm64 are built with and run on, on a machine that is none: Debian's packages of that architecture,
# unpacked into a cache folder and never installed, since those of two architectures have to be of one version, and some
# (libmunge2, of which Open MPI and libpmix have need) exclude each other. To be sourced.

# Those that the build needs, and what they depend on. g++ brings its own libstdc++.
arm64_libraries=(
  libc6-dev libstdc++6 liburing-dev libfmt-dev libhwloc-dev libcli11-dev nlohmann-json3-dev doctest-dev libpng-dev
  libfftw3-dev libibverbs-dev libpmix-dev libxxhash-dev
)

# download_arm64 FOLDER: leaves the packages in FOLDER/cache/archives. apt is told of a machine on which nothing is
# installed, and needs no root for that.
download_arm64() {
  local folder=$1 options
  mkdir -p "$folder"/{state/lists,cache/archives}/partial
  : >"$folder/status"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$folder/state"
    -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" -o Debug::NoLocking=1
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
  apt-get "${options[@]}" update </dev/null &&
    apt-get "${options[@]}" install -y --download-only --no-install-recommends "${arm64_libraries[@]}" </dev/null
}

# prepare_arm64 CACHE: makes CACHE/ready/root unless it is there. Several may ask at the same time. Status 77 where the
# packages can't be had; the last line says why.
prepare_arm64() {
  local cache=$1 making=$1/making stamp package
  stamp=$(. /etc/os-release && printf '%s %s' "${VERSION_ID-}" "${arm64_libraries[*]}")
  mkdir -p "$cache"
  exec {cache_lock}>"$cache/lock"
  flock "$cache_lock"
  if [[ ! -f $cache/ready/stamp || $(<"$cache/ready/stamp") != "$stamp" ]]; then
    rm -rf "$making"
    mkdir -p "$making/root"
    if ! download_arm64 "$making"; then
      echo "Debian's packages for arm64 can't be downloaded"
      return 77
    fi
    for package in "$making"/cache/archives/*.deb; do
      dpkg-deb --extract "$package" "$making/root"
    done
    rm -rf "$making/state" "$making/cache" "$making/status"
    printf '%s\n' "$stamp" >"$making/stamp"
    rm -rf "$cache/ready"
    mv "$making" "$cache/ready"
  fi
  exec {cache_lock}>&-
}

# write_cross_file ROOT TARGET: for Meson.
write_cross_file() {
  local root=$1 cached=
  ! command -v ccache >/dev/null || cached="'ccache', "
  cat >"$2" <<END
[binaries]
c = [$cached'aarch64-linux-gnu-gcc']
cpp = [$cached'aarch64-linux-gnu-g++']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$PWD/tests/arm64/with-arm64', '$root']

[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig'

[built-in options]
c_args = ['--sysroot=$root']
c_link_args = ['--sysroot=$root']
cpp_args = ['--sysroot=$root']
cpp_link_args = ['--sysroot=$root']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
}
