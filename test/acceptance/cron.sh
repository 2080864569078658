#!/bin/sh
# The line for cron, monitoring, and gc beside it: nothing is printed where all is well, and nothing is lost.
. "$(dirname "$0")/lib.sh"; begin "$W/a/ada"
line() { A checkpoint --to "$W/nas" >/dev/null; }
say 'checkpoint and carry; the graver status'; line 2>"$W/err"; [ ! -s "$W/err" ] || die 'cron would send mail'; exits 0 C verify "$W/nas"; exits 0 A status --max-age 1h; exits 3 A status --max-age 0s; says 'the newest state is'
printf 'more\n' >>private/memory/2026/note-1.md; exits 0 line; exits 0 line; rm private/memory/2026/note-2.md; exits 3 line; exits 0 C verify "$W/nas"; A checkpoint --declare memory-repair --to "$W/nas" >/dev/null
mkdir "$W/other"; echo x >"$W/other/x"; printf 'y\n' >>private/memory/2026/note-3.md; exits 1 A checkpoint --to "$W/other"; says TARGET_OCCUPIED
say 'gc beside a checkpoint and beside a copy'; for i in 1 2 3 4 5 6; do printf '%s\n' $i >>private/memory/2026/note-4.md; line; done; exits 0 A gc --keep-last 2 --dry-run; says 'would be given up'
(for i in 1 2 3 4 5 6; do printf 'p%s\n' $i >>private/memory/2026/note-5.md; A checkpoint >/dev/null 2>&1 || [ $? = 11 ] || exit 1; done) & p=$!
for i in 1 2 3 4; do A gc --keep-last 3 >/dev/null 2>&1 || [ $? = 11 ] || die "gc ended with $?"; cp -a .perdure/. "$W/copy-$i/" 2>/dev/null || :; done; wait $p || die 'a checkpoint failed'
A checkpoint >/dev/null 2>&1 || :; exits 0 A verify; for i in 1 2 3 4; do rm -rf "$W/copy-$i/local"; exits '[03]' A verify "$W/copy-$i"; done
say 'what was given up goes after its time of grace'; A gc --keep-last 1 >/dev/null; find .perdure "$W/nas" -type f -exec touch -d '3 days ago' {} +; exits 0 A gc --grace 0s; says removed; exits 0 A verify; A pack -o "$W/nas" >/dev/null; n=$(find "$W/nas/packs" -type f | wc -l); exits 0 A gc --bundle "$W/nas" --grace 0s; [ "$(find "$W/nas/packs" -type f | wc -l)" -lt "$n" ] || die 'the bundle kept all'; exits 0 C verify "$W/nas"
say 'after a move the line is quiet'; (cd "$W" && B invite 2>/dev/null >i.json); A fence --to "$W/i.json" --accept-new >/dev/null; A pack --include-secrets -o "$W/m.tar" >/dev/null; B rehydrate "$W/m.tar" "$W/b" >/dev/null 2>&1; B -C "$W/b" promote 2>/dev/null >"$W/r"; A close "$W/r" >/dev/null; exits 14 line; [ "$(wc -l <"$W/err")" = 1 ] || die 'more than a line'; exits 14 A status --max-age 1h
say 'units and completions'; exits 0 B -C "$W/b" checkpoint --timer --to "$W/nas"; says OnCalendar; exits 0 B -C "$W/b" guard --unit -- ./run; says RestartPreventExitStatus; for s in bash zsh fish; do exits 0 B completion $s; says keys; done; bash -n -c "$(B completion bash)"
say ok
