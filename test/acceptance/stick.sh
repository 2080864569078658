#!/bin/sh
# A stick with FAT: no modes, no links, names that fold case. A real FAT through fusefat where the machine allows it; else the
# story ends with 77, and test/actions/carry.test.ts has what a simulated file system can show.
. "$(dirname "$0")/lib.sh"; command -v fusefat >/dev/null && command -v mkfs.vfat >/dev/null && [ -w /dev/fuse ] || { say 'no FAT can be mounted here'; exit 77; }
dd if=/dev/zero of="$W/img" bs=1M count=64 status=none; mkfs.vfat "$W/img" >/dev/null; mkdir "$W/stick"; fusefat -o rw+ "$W/img" "$W/stick" >/dev/null 2>&1 || { say 'no FAT can be mounted here'; exit 77; }
trap 'cd /; fusermount -u "$W/stick" 2>/dev/null || umount "$W/stick"; rm -rf "$W"' EXIT
begin "$W/a/ada"; say 'a bundle on it, read back from the medium'; exits 0 A pack -o "$W/stick/ada" --check-medium; says 'read back as written'; says 'keeps neither owner nor modes'; exits 0 C verify "$W/stick/ada"
printf 'more\n' >>private/memory/2026/note-1.md; A checkpoint >/dev/null; exits 0 A pack -o "$W/stick/ada" --check-medium; exits 0 C verify "$W/stick/ada"; exits 0 A pack -o "$W/stick/ada.tar"; exits 0 C verify "$W/stick/ada.tar"
say 'over the gap'; (cd "$W" && B invite 2>/dev/null >"$W/stick/i.json"); A fence --to "$W/stick/i.json" --accept-new >/dev/null; exits 0 A pack --include-secrets -o "$W/stick/move.tar" --check-medium; exits 0 B rehydrate "$W/stick/move.tar" "$W/b"; B -C "$W/b" promote 2>/dev/null >"$W/stick/reply"; exits 0 A close "$W/stick/reply"
say ok
