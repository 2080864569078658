#!/bin/sh
# An agent that we did not make: a state directory of OpenClaw's shape (self-made), with two databases that are written all the time.
. "$(dirname "$0")/lib.sh"; need sqlite3
R=$W/a/.openclaw; mkdir -p "$R/state" "$R/agents/main/agent" "$R/workspace/memory" "$R/credentials" "$W/b"; cd "$R"
printf '{ agents: { defaults: { workspace: "%s/workspace" } } } // mine\n' "$R" >openclaw.json; printf 'I am Ada.\n' >workspace/SOUL.md; printf 'the harbour closes at six\n' >workspace/memory/2026-08-22.md; printf 'MODEL_KEY=canary-3f9a1c\n' >.env
one=state/openclaw.sqlite; two=agents/main/agent/openclaw-agent.sqlite
sqlite3 $one "PRAGMA journal_mode=WAL; CREATE TABLE agent_databases(agent_id TEXT, path TEXT); INSERT INTO agent_databases VALUES('main','$R/$two'); CREATE TABLE agent_database_leases(lease_id TEXT, owner_pid INTEGER); INSERT INTO agent_database_leases VALUES('l',4711); CREATE TABLE delivery_queue_entries(id TEXT PRIMARY KEY, entry_json TEXT); INSERT INTO delivery_queue_entries VALUES('d1','{}'); CREATE TABLE beats(n INTEGER PRIMARY KEY)" >/dev/null
sqlite3 $two "PRAGMA journal_mode=WAL; PRAGMA user_version=17; CREATE TABLE transcript_events(n INTEGER PRIMARY KEY, text TEXT)" >/dev/null
# The gateway: a row here, then one there, for at most a minute.
cat >"$W/gateway" <<G
#!/bin/sh
i=0; { printf '.timeout 5000\nATTACH "%s" AS two;\n' "$R/$two"; while [ \$i -lt 3000 ] && [ -d "$W" ]; do printf 'INSERT INTO main.beats(n) VALUES(NULL);\nINSERT INTO two.transcript_events(text) VALUES("said");\n'; i=\$((i+1)); sleep 0.02; done; } | sqlite3 -batch "$R/$one"
G
chmod +x "$W/gateway"
say 'the layout is known, and what is not is told'; printf 'x' >unheard-of.bin; exits 0 A profile test .; says 'profile openclaw'; says 'no rule knows 1 path'
exits 0 A init . --recovery-kit "$W/kit"; says 'profile openclaw'; says 'unheard-of.bin'
A guard -- "$W/gateway" >/dev/null 2>&1 & g=$!
rows() { sqlite3 "$1" "SELECT count(*) FROM $2" 2>/dev/null || echo 0; }
i=0; until [ "$(rows $two transcript_events)" -gt 20 ]; do i=$((i+1)); [ $i -lt 300 ] || die 'nothing writes'; sleep 0.1; done
say 'a checkpoint while both are written: whole, of one moment, and nothing of theirs is touched'
ids() { stat -c '%n %i' "$@"; }; before=$(ids $one $one-wal $two $two-wal); exits 0 A checkpoint; same "$before" "$(ids $one $one-wal $two $two-wal)"; A restore HEAD --to "$W/copy" >/dev/null; [ -z "$(find "$W/copy" -name '*-wal' -o -name '*-shm')" ] || die 'a log came along'
for d in $one $two; do [ "$(sqlite3 "$W/copy/$d" 'PRAGMA integrity_check')" = ok ] || die "$d is not whole"; done
x=$(rows "$W/copy/$one" beats); y=$(rows "$W/copy/$two" transcript_events); [ $((x - y)) -ge -3 ] && [ $((x - y)) -le 3 ] && [ "$x" -gt 0 ] || die "$x rows and $y rows are not of one moment"
say 'the move: the fence ends the gateway'; B invite >"$W/i.json" 2>/dev/null; exits 0 A fence --to "$W/i.json" --accept-new --drain 1s; wait $g || :; n=$(rows $one beats); A pack --include-secrets -o "$W/claw.tar" >/dev/null
grep -aq -e canary-3f9a1c -e harbour "$W/claw.tar" && die 'something is readable in the bundle'
exits 0 B rehydrate "$W/claw.tar" "$W/b/.openclaw"; cd "$W/b/.openclaw"; exits 0 B promote; says rehome; cp "$W/out" "$W/r.json"
say 'it does not run before it is at home'; exits 14 B guard -- touch "$W/ran"; [ ! -e "$W/ran" ] || die 'it ran'; exits 0 B rehome; says 'at home here'; exits 0 B guard -- true
q() { sqlite3 $one "$1"; }
[ "$(q 'SELECT path FROM agent_databases')" = "$PWD/$two" ] || die 'the path is the old one'; grep -q "\"$PWD/workspace\" } } } // mine" openclaw.json || die 'the config is not rewritten'
[ "$(q 'SELECT count(*) FROM agent_database_leases')" = 0 ] || die 'a lease moved'; [ "$(q 'SELECT count(*) FROM delivery_queue_entries')" = 0 ] || die 'a queue is not held'; [ "$(q 'SELECT count(*) FROM beats')" = "$n" ] || die 'rows are lost'
exits 3 B status --after-move; says 'agent release\|perdure release\|release'; exits 0 B release; [ "$(q 'SELECT id FROM delivery_queue_entries')" = d1 ] || die 'the queue did not come back'
exits 3 B status --after-move; says "'openclaw': not on PATH"; mkdir "$W/bin"; printf '#!/bin/sh\n' >"$W/bin/openclaw"; chmod +x "$W/bin/openclaw"; PATH=$W/bin:$PATH
exits 0 B status --after-move --find 'closes at six'; says 'with schema and rows'; says 'workspace/memory/2026-08-22.md'; exits 0 B verify; exits 0 B verify --between 3..HEAD; [ "$(cat .env)" = MODEL_KEY=canary-3f9a1c ] || die 'a secret is missing'
cd "$R"; exits 0 A close "$W/r.json"; exits 14 A guard -- true
say ok
