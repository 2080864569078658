#!/bin/sh
# Checks a Perdure bundle (or a .perdure directory) with what is on most machines: sha256sum, ssh-keygen and a reader of JSON
# (jq, python3, node or perl). Usage: sh verify.sh [DIRECTORY]; without one, the directory of this script.
# It checks: every file is what its name says; the records are one chain; each signature fits the key that its record names, and
# second signatures are by recovery keys; the envelopes are those that the ledger names last; the newest state is there whole.
# It does not check whether whoever signed a record might (`agent verify` does), nor contents, which are sealed.
# A script that came with what it checks is as good as where it came from: compare it with the one of the Perdure project.
set -u
export LC_ALL=C
d=${1:-$(dirname "$0")}
cd "$d" || exit 2
t=$(mktemp -d) || exit 2
trap 'rm -rf "$t"' EXIT
bad=0
say() { printf '%s\n' "$*"; }
wrong() { bad=$((bad + 1)); printf 'WRONG: %s\n' "$*"; }
for tool in sha256sum ssh-keygen; do command -v $tool >/dev/null || { say "$tool is needed"; exit 2; }; done

# get PATH: reads one JSON text and prints the string or number at a path such as .by, or each of a list such as .packs[].digest
if command -v jq >/dev/null; then
  reader=jq
  get() { case $1 in *'[]'*) jq -r "$(printf '%s' "$1" | sed 's/\[\]/[]?/g') // empty";; *) jq -j "if $1 == null then empty else $1 end";; esac; }
elif command -v python3 >/dev/null; then
  reader=python3
  get() { python3 -c '
import sys, json
values = [json.load(sys.stdin)]
path = sys.argv[1]
for part in path.strip(".").split("."):
    name, each = (part[:-2], True) if part.endswith("[]") else (part, False)
    values = [v[name] for v in values if isinstance(v, dict) and name in v]
    if each: values = [x for v in values for x in v]
text = [str(v) for v in values if v is not None]
sys.stdout.write("".join(x + "\n" for x in text) if "[]" in path else "".join(text))' "$1"; }
elif command -v node >/dev/null; then
  reader=node
  get() { node -e '
const path = process.argv[1];
let values = [JSON.parse(require("fs").readFileSync(0, "utf8"))];
for (const part of path.replace(/^\.+/, "").split(".")) {
  const each = part.endsWith("[]");
  const name = each ? part.slice(0, -2) : part;
  values = values.flatMap((v) => (v && typeof v === "object" && name in v ? [v[name]] : []));
  if (each) values = values.flat(1);
}
process.stdout.write(values.map((v) => (path.includes("[]") ? v + "\n" : String(v))).join(""));' "$1"; }
elif command -v perl >/dev/null && perl -MJSON::PP -e 1 2>/dev/null; then
  reader=perl
  get() { perl -MJSON::PP -e '
my $path = shift; local $/; my @v = (decode_json(<STDIN>));
(my $p = $path) =~ s/^\.+//;
for my $part (split /\./, $p) {
  my $each = $part =~ s/\[\]$//;
  @v = map { ref $_ eq "HASH" && exists $_->{$part} ? ($_->{$part}) : () } @v;
  @v = map { @$_ } @v if $each;
}
binmode STDOUT, ":utf8";
print $path =~ /\[\]/ ? "$_\n" : $_ for grep { defined } @v;' "$1"; }
else
  say 'a reader of JSON is needed: jq, python3, node or perl'; exit 2
fi

[ "$(cat format 2>/dev/null)" = 'perdure 1' ] || { say "no 'perdure 1' here"; exit 2; }

n=0
for f in packs/*/*.age manifests/*.json packlists/*.json keys/*.*.age; do
  [ -f "$f" ] || continue
  name=${f##*/}
  case $f in keys/*) name=${name#*.};; esac
  [ "$(sha256sum <"$f" | cut -c1-64)" = "${name%%.*}" ] || wrong "$f is not what its name says"
  n=$((n + 1))
done
say "$n files are named by what they hold"

seq=0; prev=; agent=; manifest=; folded=
: >"$t/recovery"; : >"$t/envelopes"
while IFS= read -r line || [ -n "$line" ]; do
  printf '%s' "$line" | get .record >"$t/record"
  printf '%s' "$line" | get '.sigs[]' >"$t/sigs"
  digest=$(sha256sum <"$t/record" | cut -c1-64)
  kind=$(get .kind <"$t/record")
  [ "$(get .seq <"$t/record")" = $seq ] || wrong "record $seq has another number"
  if [ $seq = 0 ]; then agent=$digest
  else
    [ "$(get .prev <"$t/record")" = "$prev" ] || wrong "record $seq does not follow record $((seq - 1))"
    [ "$(get .agent <"$t/record")" = "$agent" ] || wrong "record $seq is of another agent"
  fi
  k=0
  while IFS= read -r sig; do
    { echo '-----BEGIN SSH SIGNATURE-----'; printf '%s\n' "$sig" | fold -w 70; echo '-----END SSH SIGNATURE-----'; } >"$t/sig"
    if [ $k = 0 ]; then { printf 'x '; get .by <"$t/record"; echo; } >"$t/signers"; else cp "$t/recovery" "$t/signers"; fi
    ssh-keygen -Y verify -f "$t/signers" -I x -n perdure-ledger@v1 -s "$t/sig" <"$t/record" >/dev/null 2>&1 || wrong "record $seq ($kind): signature $((k + 1)) does not fit"
    k=$((k + 1))
  done <"$t/sigs"
  [ $k -gt 0 ] || wrong "record $seq has no signature"
  get '.recovery[].key' <"$t/record" >"$t/keys"
  [ ! -s "$t/keys" ] || sed 's/^/x /' "$t/keys" >"$t/recovery"
  get '.storeKeys[].id' <"$t/record" >"$t/ids"; get '.storeKeys[].envelope' <"$t/record" | paste -d' ' "$t/ids" - | sed '/^ *$/d' >>"$t/envelopes"
  case $kind in checkpoint | restore) manifest=$(get .manifest <"$t/record");; gc) get '.folded[]' <"$t/record" >"$t/folded"; folded=yes;; esac
  prev=$digest; seq=$((seq + 1))
done <ledger.jsonl
say "$seq records in one chain, each signed by the key that it names (agent $(printf %.12s "$agent"))"

m=0
for id in $(cut -d' ' -f1 "$t/envelopes" | sort -u); do
  want=$(grep "^$id " "$t/envelopes" | tail -1 | cut -d' ' -f2)
  if [ -f "keys/$id.age" ] && [ "$(sha256sum <"keys/$id.age" | cut -c1-64)" = "$want" ]; then m=$((m + 1)); elif [ -f "keys/$id.$want.age" ]; then m=$((m + 1)); else wrong "the envelope of store key $id is not the one that the ledger names"; fi
done
say "$m envelopes are those that the ledger names last"

if [ -n "$manifest" ]; then
  : >"$t/old"
  [ -z "$folded" ] || while IFS= read -r page; do
    if [ -f "packlists/$page.json" ]; then get '.replaces[]' <"packlists/$page.json" >>"$t/old"; get '.packs[].digest' <"packlists/$page.json" >>"$t/new"; else wrong "pack list $page is missing"; fi
  done <"$t/folded"
  if [ -f "manifests/$manifest.json" ]; then
    for page in $(get '.packlists[]' <"manifests/$manifest.json"); do
      if [ -f "packlists/$page.json" ]; then get '.packs[].digest' <"packlists/$page.json" >>"$t/new"; else wrong "pack list $page is missing"; fi
    done
    p=0
    for pack in $(sort -u "$t/new"); do
      if grep -q "^$pack" "$t/old"; then continue; fi
      if [ -f "packs/$(printf %.2s "$pack")/$pack.age" ]; then p=$((p + 1)); else wrong "pack $pack of the newest state is missing"; fi
    done
    say "the newest state $(printf %.12s "$manifest") names $p packs, and looks for no other"
  else wrong "the manifest of the newest state is missing"; fi
fi
[ $bad = 0 ] || { say "not verified: $bad wrong (read with $reader)"; exit 1; }
say "verified (read with $reader; contents are sealed; who might sign, and whether newer records were cut off the end, is not seen here)"
