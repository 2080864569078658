#!/bin/sh
# Bulk first, short downtime: most of it goes while the agent runs, the rest after the fence; two bundles, in any order.
. "$(dirname "$0")/lib.sh"; begin "$W/a/ada"; (cd "$W" && B invite 2>/dev/null >"$W/i.json")
say 'the bulk, while the agent runs'; A guard -- true; A pack --for "$W/i.json" -o "$W/bulk.tar" >/dev/null; bulk=$(wc -c <"$W/bulk.tar")
printf 'after the bulk\n' >>private/memory/2026/note-3.md
say 'the fence; what was sent is left out'; A fence --to "$W/i.json" --accept-new >/dev/null; A pack -o "$W/rest.tar" --include-secrets >"$W/out"; grep -q 'left out that the target has' "$W/out" || die 'the bulk was packed again'; [ "$(wc -c <"$W/rest.tar")" -lt $((bulk / 4)) ] || die 'the rest is as large as the bulk'
cd "$W"; say 'the rest alone names the missing base, and the command that brings it'; exits 13 B rehydrate "$W/rest.tar" "$W/b"; says 'next: agent rehydrate BASE'; says 'next: agent pack --full'; [ ! -e "$W/b" ] || die 'something was written'
exits 3 C verify "$W/rest.tar"; says BASE_NEEDED
say 'both, in either order'; exits 0 B rehydrate "$W/rest.tar" "$W/bulk.tar" "$W/b1"; rm -rf "$W/b1"; exits 0 B rehydrate "$W/bulk.tar" "$W/rest.tar" "$W/b"; B -C "$W/b" promote 2>/dev/null >"$W/reply"; (cd "$W/a/ada" && A close "$W/reply" >/dev/null); grep -q 'after the bulk' "$W/b/private/memory/2026/note-3.md" || die 'the rest did not come'; exits 0 B -C "$W/b" verify
say 'a lost bulk is no end: the whole once more'; (cd "$W" && C invite 2>/dev/null >"$W/c.json"); B -C "$W/b" pack --for "$W/c.json" -o "$W/lost.tar" >/dev/null; rm "$W/lost.tar"; B -C "$W/b" fence --to "$W/c.json" --accept-new >/dev/null; B -C "$W/b" pack --full -o "$W/full.tar" --include-secrets >/dev/null; exits 0 C rehydrate "$W/full.tar" "$W/c"
say ok
