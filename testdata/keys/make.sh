#!/bin/sh
# Makes the OpenPGP keys that the tests sign with, using gpg. They protect nothing: never trust them, never reuse them.
# Run by hand; the tests use the committed files. Running it again makes other keys.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT

# The keys are made on 1 January 2020, so that a signature of any later time can be made with them.
run() {
    gpg --batch --quiet --no-tty --pinentry-mode loopback --passphrase '' --faked-system-time 20200101T000000 "$@"
}

make() { # NAME ALGORITHM USAGE EXPIRY
    run --quick-generate-key "provlock test only, $1 <$1@provlock.invalid>" "$2" "$3" "$4"
}

write() { # NAME
    gpg --batch --armor --export "$1@provlock.invalid" >"$here/test-only-$1.public.asc"
    gpg --batch --armor --pinentry-mode loopback --passphrase '' --export-secret-keys "$1@provlock.invalid" \
        >"$here/test-only-$1.secret.asc"
}

make rsa rsa2048 sign never
make ed25519 ed25519 sign never
make other ed25519 sign never
make subkey ed25519 cert never
# Signs with its subkey only, as careful publishers do.
run --quick-add-key "$(run --with-colons --list-keys subkey@provlock.invalid | awk -F: '$1 == "fpr" { print $10; exit }')" \
    ed25519 sign never
# Valid during the year 2020 only.
make expired rsa2048 sign 20210101T000000

for name in rsa ed25519 other subkey expired; do write "$name"; done
