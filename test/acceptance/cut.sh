#!/bin/sh
# The line that users remember, cut behind promote: typed again it goes on to the reply, and nothing happens twice.
. "$(dirname "$0")/lib.sh"; begin "$W/a/ada"; mkdir -p "$W/b"; cd "$W/a/ada"
upto() { B invite 2>/dev/null | Ain fence --to - --accept-new >/dev/null && A pack --include-secrets -o - 2>/dev/null | (cd "$W/b" && Bin rehydrate - ada && B -C ada promote) 2>/dev/null; }
upto | cat >/dev/null; exits 14 A guard -- true; (cd "$W/b/ada" && exits 0 B guard -- true)
say 'the same line again'; upto | Ain close - >/dev/null; exits 14 A guard -- true; A status >"$W/out" 2>&1; : >"$W/err"; says SUPERSEDED
n=$(cd "$W/b/ada" && B log | grep -c promote); [ "$n" = 1 ] || die "$n promotions"
say 'and once the agent has gone on, an old bundle is old'; A pack -o "$W/old.tar" >/dev/null; (cd "$W/b/ada" && printf x >>private/memory/2026/note-1.md; B checkpoint >/dev/null); cd "$W"; exits 15 B rehydrate old.tar b/ada
say ok
