# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_provlock_global_optspecs
    string join \n C/chdir= dialect= json v/verbose q/quiet color= h/help V/version
end

function __fish_provlock_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_provlock_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_provlock_using_subcommand
    set -l cmd (__fish_provlock_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c provlock -n "__fish_provlock_needs_command" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_needs_command" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_needs_command" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_needs_command" -l json -d 'Print the result as one JSON object on stdout'
complete -c provlock -n "__fish_provlock_needs_command" -s v -l verbose -d 'Say more; repeat for more still'
complete -c provlock -n "__fish_provlock_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_needs_command" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_needs_command" -s V -l version -d 'Print version'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "lock" -d 'Lock every required provider for every platform'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "verify" -d 'Check that the lock file fits its configuration, the policy and what is published'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s p -l platform -d 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s j -l jobs -d 'How many packages to download and hash at a time [default: twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l prune -d 'Remove entries that the configuration does not require'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l accept-changed-hashes -d 'Replace hashes that are not those of the published release'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l allow-missing-modules -d 'Go on without modules that are not installed'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l no-tests -d 'Do not count what only test files require'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l check -d 'Write nothing; exit with 1 if the lock file would change'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l dry-run -d 'Write nothing; print the change as a diff'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l json -d 'Print the result as one JSON object on stdout'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s v -l verbose -d 'Say more; repeat for more still'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s p -l platform -d 'Platforms that must be covered, or `all` [default: those of provlock.toml]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l base -d 'Judge the change since this commit' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s j -l jobs -d 'How many packages to download and hash at a time [default: twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l format -d 'How findings are printed' -r -f -a "text\t'For people'
json\t'One object, as with --json'
github\t'Annotations of a GitHub workflow'
sarif\t'SARIF 2.1.0, for code scanning'"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l deny -d 'Take this finding for an error' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l warn -d 'Take this finding for a warning' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l allow -d 'Leave this finding out' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s r -l recursive -d 'Check every root module below'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l online -d 'Ask the registries whether every hash is one that was published'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l installed -d 'Compare the packages in .terraform/providers with the lock file'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l no-tests -d 'Do not count what only test files require'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l json -d 'Print the result as one JSON object on stdout'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s v -l verbose -d 'Say more; repeat for more still'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l json -d 'Print the result as one JSON object on stdout'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s v -l verbose -d 'Say more; repeat for more still'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s h -l help -d 'Print help'
