# shellcheck shell=bash
# The guest's kernel: Debian's own, with the RDMA modules that the machine's kernel may lack. It is downloaded and
# unpacked into a cache folder, never installed. To be sourced.

# What must be there before a command can run in the guest; what these depend on is found by modprobe. rdma_rxe needs
# crc32_generic, though its dependencies don't list it.
guest_modules=(virtio_pci 9pnet_virtio 9p overlay veth sch_netem crc32_generic ib_uverbs rdma_rxe)

# skip REASON...: the guest can't be had here.
skip() {
  printf 'SKIP: no guest: %s\n' "$*" >&2
  exit 77
}

fail() {
  printf 'run-in-guest: %s\n' "$*" >&2
  exit 70
}

# The name of Debian's present kernel package (the "cloud" flavour has no RXE).
kernel_package() {
  apt-cache depends linux-image-amd64 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9].*-amd64$/ { print $2; exit }'
}

# unpack_vmlinux BZIMAGE TARGET: an uncompressed kernel starts 9 s earlier under emulation. Debian packs it with xz.
unpack_vmlinux() {
  python3 - "$1" "$2" <<'END'
import lzma, struct, sys
image = open(sys.argv[1], 'rb').read()
assert image[0x202:0x206] == b'HdrS', 'not a Linux bzImage'  # at 0x202; the fields are those of the x86 boot protocol
start = (image[0x1f1] + 1) * 512 + struct.unpack_from('<I', image, 0x248)[0]
kernel = lzma.LZMADecompressor().decompress(image[start:])
assert kernel.startswith(b'\x7fELF'), 'the packed kernel is no ELF file'
open(sys.argv[2], 'wb').write(kernel)
END
}

# download_kernel FOLDER: leaves the package's contents in FOLDER/root.
download_kernel() {
  local folder=$1 package
  command -v apt-get >/dev/null || skip 'the kernel comes from Debian, and there is no apt-get here'
  package=$(kernel_package)
  [[ -n $package ]] || skip "apt knows no linux-image-amd64 (try 'apt-get update')"
  (cd "$folder" && apt-get download "$package" </dev/null >download.log 2>&1) ||
    skip "$package can't be downloaded: $(tail -n 1 "$folder/download.log")"
  dpkg-deb --extract "$folder/$package"_*.deb "$folder/root" || fail "$package can't be unpacked"
  rm "$folder/$package"_*.deb
}

# make_initramfs ROOT VERSION TARGET: busybox, the modules, and the order to load them in.
make_initramfs() {
  local root=$1 version=$2 target=$3 tree name path
  tree=$(mktemp -d)
  mkdir -p "$tree/bin" "$tree/modules"
  cp "$(command -v busybox)" "$tree/bin/busybox"
  # shellcheck disable=SC2154 # set by who sources this
  cp "$guest_sources/init" "$tree/init"
  chmod 755 "$tree/init"
  depmod --basedir "$root" "$version"
  for name in "${guest_modules[@]}"; do
    modprobe --dirname "$root" --set-version "$version" --show-depends "$name"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$tree/paths"
  while read -r path; do
    cp "$path" "$tree/modules/"
    printf '%s\n' "${path##*/}" >>"$tree/modules/order"
  done <"$tree/paths"
  rm "$tree/paths"
  grep -q '^rdma_rxe\.ko' "$tree/modules/order" || fail "the kernel $version has no rdma_rxe"
  (cd "$tree" && find . | LC_ALL=C sort | cpio --quiet -o -H newc) >"$target"
  rm -r "$tree"
}

# prepare_guest CACHE: makes CACHE/ready/{vmlinux,initramfs} unless they are there. Several may ask at the same time.
prepare_guest() {
  local cache=$1 stamp making version
  stamp="$(cat "$guest_sources/init" "$guest_sources/kernel.sh" | sha256sum | cut -d' ' -f1)"
  mkdir -p "$cache"
  exec {cache_lock}>"$cache/lock"
  flock "$cache_lock"
  if [[ ! -f $cache/ready/stamp || $(<"$cache/ready/stamp") != "$stamp" ]]; then
    making=$cache/making
    rm -rf "$making"
    mkdir "$making"
    if [[ -d $cache/ready/root ]]; then
      cp -al "$cache/ready/root" "$making/root"
    else
      download_kernel "$making"
    fi
    version=$(basename "$making"/*/boot/vmlinuz-*)
    version=${version#vmlinuz-}
    unpack_vmlinux "$making/root/boot/vmlinuz-$version" "$making/vmlinux"
    make_initramfs "$making/root" "$version" "$making/initramfs"
    printf '%s\n' "$stamp" >"$making/stamp"
    rm -rf "$cache/ready"
    mv "$making" "$cache/ready"
  fi
  exec {cache_lock}>&-
}
