#!/bin/sh
# A new agent of an old one: identity and body, and no private byte.
. "$(dirname "$0")/lib.sh"; begin "$W/a/ada"; printf 'canary-diary\n' >>private/memory/2026/note-1.md; A checkpoint >/dev/null; before=$(tree .)
exits 2 A descend "$W/a/bea"; exits 0 A descend "$W/a/bea" --recovery-kit "$W/bea.kit"; says 'private/secrets/chat.env'; same "$(tree .)" "$before"; exits 0 A guard -- true
cd "$W/a/bea"; exits 0 A checkpoint; exits 0 A verify; exits 0 A guard -- true; [ "$(A status --json | grep -o '"agent":"[0-9a-f]*"')" != "$(A -C "$W/a/ada" status --json | grep -o '"agent":"[0-9a-f]*"')" ] || die 'the same agent'; git -C body log --oneline | grep -q body || die 'the body has no history'
say 'no private byte of the parent'; ! grep -rqa 'canary-diary\|canary-3f9a1c\|tomatoes' . || die 'a private byte came along'; ! grep -rqa "$(A -C "$W/a/ada" status --json | sed 's/.*"agent":"\([0-9a-f]*\)".*/\1/')" .perdure || die 'the parent is named'
say 'with memory, and with a proof'; cd "$W/a/ada"; exits 0 A descend "$W/a/cleo" --no-recovery --class memory --proof; grep -q canary-diary "$W/a/cleo/private/memory/2026/note-1.md" || die 'the memory did not come'; head -1 "$W/a/cleo/.perdure/ledger.jsonl" | grep -q 'parent' || die 'no proof'
say 'it moves by itself'; (cd "$W" && B invite 2>/dev/null >i.json); cd "$W/a/bea"; A fence --to "$W/i.json" --accept-new >/dev/null; A pack --include-secrets -o "$W/bea.tar" >/dev/null; exits 0 B rehydrate "$W/bea.tar" "$W/b/bea"; exits 0 B -C "$W/b/bea" promote; exits 0 A -C "$W/a/ada" guard -- true
say ok
