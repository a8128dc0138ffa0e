# A constraint that was changed without the lock file.
. "$PAGES/locked.sh"
sed -i 's/~> 3.2/~> 3.3/' live/main.tf
