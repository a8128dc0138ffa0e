complete --keep-order --exclusive --command provlock --arguments "(PROVLOCK_COMPLETE=fish provlock -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
