# State in a bucket that the base does not use.
. "$PAGES/locked.sh"
sed -i 's/acme-state/other-state/' live/main.tf
git commit --quiet --all --message=bucket
