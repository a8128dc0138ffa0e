# A comment that ignores a finding that does not occur.
. "$PAGES/locked.sh"
sed -i 's/^provider/# provlock: ignore[unsorted-hashes] a bot sorts them\n&/' live/.terraform.lock.hcl
