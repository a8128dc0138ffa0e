
set edit:completion:arg-completer[provlock] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) PROVLOCK_COMPLETE="elvish" provlock -- $@words) | to-lines
}

