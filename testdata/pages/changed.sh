# A newer version of a provider.
. "$PAGES/locked.sh"
provlock -C live upgrade --quiet
git commit --quiet --all --message=upgrade
