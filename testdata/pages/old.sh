# Old findings on main, and a change of something else.
. "$PAGES/locked.sh"
git switch --quiet main
for name in db web; do
  cp -r live $name
  sed -i '/hashes = \[/,/\]/d' $name/.terraform.lock.hcl
done
git add .
git commit --quiet --message=old
git switch --quiet --create other
provlock -C live upgrade --quiet
git commit --quiet --all --message=upgrade
