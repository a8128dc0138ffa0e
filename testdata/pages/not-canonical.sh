# A version as bots write it.
. "$PAGES/locked.sh"
sed -i 's/version     = "3.2.3"/version     = "v3.2.3"/' live/.terraform.lock.hcl
