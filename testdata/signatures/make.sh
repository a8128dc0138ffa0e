#!/usr/bin/env bash
# Makes the keys and signatures of this directory with gpg (2.2.40 was used), into the directory that is given or this one.
# Keys are random: every run makes other files with the same properties. cases.tsv says what each must lead to.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
cp "$here/SHA256SUMS" "$here/packets.py" "$GNUPGHOME"
cd "$GNUPGHOME"
mkdir new
sed 's/linux/plan9/' SHA256SUMS > OTHER

# gpg at a date (YYYYMMDD).
at() { local day=$1; shift; gpg --batch --quiet --yes --pinentry-mode loopback --passphrase '' --allow-weak-digest-algos \
  --faked-system-time "${day}T000000!" "$@"; }
fingerprint() { gpg --batch --with-colons --list-keys "=$1" | awk -F: '$1 == "fpr" { print $10; exit }'; }
subkey() { gpg --batch --with-colons --list-keys "=$1" | awk -F: '$1 == "fpr" { f = $10 } END { print f }'; }
key() { at 20240101 "${@:4}" --quick-gen-key "$1" "$2" "$3" "${expiry:-never}"; }       # NAME ALGORITHM USAGE [OPTION]...
sign() { at "${day:-20240201}" --local-user "$2" "${@:3}" --output "new/$1.sig" --detach-sign "${file:-SHA256SUMS}"; }  # SIGNATURE KEY [OPTION]...
public() { gpg --batch --quiet --armor --export "${@:2}" > "new/$1.asc"; }               # FILE KEY...
plain() { key "$1" "$2" sign "${@:3}"; sign "$1" "=$1"; public "$1" "=$1"; }
edit() { printf '%s\n' "${@:2}" | at 20240301 --command-fd 0 --expert --edit-key "$1" > /dev/null; }

plain rsa rsa2048
plain rsa1024 rsa1024
plain ed25519 ed25519
plain dsa dsa2048
plain nistp256 nistp256
plain brainpool brainpoolP256r1
plain sha1-self-signature rsa2048 --cert-digest-algo SHA1
plain md5-self-signature rsa2048 --cert-digest-algo MD5

sign sha1 =rsa --digest-algo SHA1
sign ripemd160 =rsa --digest-algo RIPEMD160
sign md5 =rsa --digest-algo MD5
sign sha224 =rsa --digest-algo SHA224
sign sha512 =ed25519 --digest-algo SHA512
sign text =rsa --textmode
sign armored =rsa --armor
sign notation =rsa --sig-notation note@example.com=1
sign critical-notation =rsa --sig-notation '!note@example.com=1'
file=OTHER sign other-text =rsa
at 20240201 --local-user =rsa --output new/attached.sig --sign SHA256SUMS
at 20240201 --local-user =rsa --output new/clear.sig --clear-sign SHA256SUMS
sign expired-signature =rsa --default-sig-expire 30d
day=21000101 sign future-signature =rsa
: > new/empty.sig
printf 'this is no signature' > new/garbage.sig
head -c 150 new/rsa.sig > new/truncated.sig
cat new/ed25519.sig new/rsa.sig > new/two.sig
cat new/rsa.sig new/garbage.sig > new/trailing.sig

# Subkeys: the primary key may only certify.
for name in subkey revoked-subkey expired-subkey encryption-subkey compromised-subkey; do
  key $name ed25519 cert
  at 20240101 --quick-add-key "$(fingerprint $name)" ed25519 sign "$([ $name = expired-subkey ] && echo 5m || echo never)"
  sign $name "$(subkey $name)!"
done
at 20240101 --quick-add-key "$(fingerprint subkey)" brainpoolP256r1 encr never
edit =revoked-subkey 'key 1' revkey y 0 '' y save
edit =compromised-subkey 'key 1' revkey y 1 '' y save
edit =encryption-subkey 'key 1' change-usage S A q save
for name in subkey revoked-subkey expired-subkey encryption-subkey compromised-subkey; do public $name "=$name"; done
python3 packets.py strip-back-signature < new/subkey.asc > new/no-cross-certification.asc

# Keys that may not be used.
expiry=5m plain expired rsa2048
plain authentication-only ed25519
edit =authentication-only change-usage S A q save
public authentication-only =authentication-only
plain revoked ed25519
sed 's/^:-----/-----/' "openpgp-revocs.d/$(fingerprint revoked).rev" | at 20240301 --import
public revoked =revoked
plain revoked-user-id ed25519
at 20240102 --quick-add-uid "$(fingerprint revoked-user-id)" second
at 20240301 --quick-revoke-uid "$(fingerprint revoked-user-id)" revoked-user-id
public one-revoked-user-id =second
python3 packets.py only-first-user-id < new/one-revoked-user-id.asc > new/revoked-user-id.asc
at 21000101 --quick-gen-key future ed25519 sign never
day=21000101 sign future =future
public future =future

# Key blocks.
public two-keys =ed25519 =rsa
python3 packets.py drop-user-id < new/rsa.asc > new/no-user-id.asc
python3 packets.py drop-signatures < new/rsa.asc > new/no-self-signature.asc
python3 packets.py spoil-signature < new/rsa.asc > new/bad-self-signature.asc
python3 packets.py cut < new/rsa.asc > new/cut.asc
sed 's/PUBLIC/PRIVATE/' new/rsa.asc > new/private.asc
printf 'not an armored key' > new/unarmored.asc
cat new/rsa.asc new/ed25519.asc > new/two-blocks.asc
sed 's/$/\r/' new/rsa.asc > new/crlf.asc

cp new/* "$out"
