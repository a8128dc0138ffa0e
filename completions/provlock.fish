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
complete -c provlock -n "__fish_provlock_needs_command" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_needs_command" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_needs_command" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_needs_command" -s V -l version -d 'Print version'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "lock" -d 'Lock every required provider, with its hashes for the platforms asked for'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "cache" -d 'Show or empty the cache of package hashes'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "verify" -d 'Check that the lock file fits its configuration, the policy and what is published'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "diff" -d 'Compare two lock files, provider by provider'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "merge" -d 'Merge lock files, or repair one that holds conflict markers'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "setup" -d 'Connect provlock with other programs'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "upgrade" -d 'Move providers to newer versions'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "explain" -d 'Explain the code of a finding or an error'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "login" -d 'Store the token of a registry or mirror, read without echo or from stdin'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "logout" -d 'Remove the token of a registry or mirror'
complete -c provlock -n "__fish_provlock_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s r -l recursive -d 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s p -l platform -d 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l var -d 'Give a variable a value, for the sources and versions of modules' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l var-file -d 'Read values of variables from FILE, as from terraform.tfvars; --var wins' -r -F
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l min-age -d 'Choose no version younger than this, for example 7d [default: that of provlock.toml]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l opentofu-api -d 'Where registry.opentofu.org tells when versions were published' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l terraform-api -d 'Where registry.terraform.io tells when versions were published' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l oci-mirror -d 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s j -l jobs -d 'How many packages to download and hash at a time [default: 24, or twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l format -d 'How the result is printed [default: text]' -r -f -a "text\t'For people'
json\t'One JSON object, as with --json'"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l prune -d 'Remove entries that the configuration does not require'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l accept-changed-hashes -d 'Replace hashes that are not those of the published release'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l allow-missing-modules -d 'Go on without modules that are not installed'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l no-tests -d 'Do not count what only test files require'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l no-fetch-modules -d 'Fetch no modules; read only those that are installed'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l use-cli-config -d 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l trust-registry -d 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l offline -d 'Ask no host; use the lock file and the cache, and say what is missing'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l check -d 'Write nothing; exit with 1 if the lock file would change or holds a `zh:` that nobody published'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l dry-run -d 'Write nothing; print the change as a diff'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand lock" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -f -a "dir" -d 'Print the directory of the cache'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and not __fish_seen_subcommand_from dir clean" -f -a "clean" -d 'Remove everything that provlock put there'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from dir" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand cache; and __fish_seen_subcommand_from clean" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l base -d 'Judge the change since this commit' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l var -d 'Give a variable a value, for the sources and versions of modules' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l var-file -d 'Read values of variables from FILE, as from terraform.tfvars; --var wins' -r -F
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s p -l platform -d 'Platforms that must be covered, or `all` [default: those of provlock.toml]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l oci-mirror -d 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s j -l jobs -d 'How many packages to download and hash at a time [default: 24, or twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l report -d 'Also write the result to a file, in any of the formats, such as sarif=provlock.sarif' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l deny -d 'Take this finding for an error' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l warn -d 'Take this finding for a warning' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l allow -d 'Leave this finding out' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l format -d 'How the result is printed [default: text]' -r -f -a "text\t'For people'
json\t'One JSON object, as with --json'
github\t'Annotations of a GitHub workflow'
sarif\t'SARIF 2.1.0, for code scanning'"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s r -l recursive -d 'Check every root module below'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l online -d 'Ask the registries whether every hash is one that was published'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l installed -d 'Compare the packages in .terraform/providers with the lock file'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l no-tests -d 'Do not count what only test files require'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l no-fetch-modules -d 'Fetch no modules; read only those that are installed'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l use-cli-config -d 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l trust-registry -d 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l git -d 'Compare a revision with the working tree, or two: REV, OLD..NEW or, from their merge base, OLD...NEW' -r
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l textconv -d 'Print FILE with one line per provider, for `git diff`' -r -F
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l format -d 'How the result is printed [default: text]' -r -f -a "text\t'For people'
markdown\t'A table for a comment on a pull request'
json\t'One JSON object, as with --json'
unified\t'Line by line, as `diff -u` does'"
complete -c provlock -n "__fish_provlock_using_subcommand diff" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand diff" -s r -l recursive -d 'Compare every lock file in this directory and below that git knows'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l exit-code -d 'Exit with 1 if there are differences'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l path -d 'The path that the file belongs at, git\'s %P: what messages call it, and in whose directory --resolve finds the configuration [default: FILE or OURS]' -r -F
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l marker-size -d 'How many characters a conflict marker has; git\'s %L' -r
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s p -l platform -d 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]' -r
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l oci-mirror -d 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`' -r
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s j -l jobs -d 'How many packages to download and hash at a time [default: 24, or twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l format -d 'How the result is printed [default: text]' -r -f -a "text\t'For people'
json\t'One JSON object, as with --json'"
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l resolve -d 'Lock the providers in conflict again, as `provlock lock` does, instead of leaving conflicts'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l use-cli-config -d 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l trust-registry -d 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l offline -d 'Ask no host; use the lock file and the cache, and say what is missing'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and not __fish_seen_subcommand_from git" -f -a "git" -d 'Let git compare and merge lock files with provlock'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -l write -d 'Add the lines to .gitattributes and to this clone\'s configuration'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand setup; and __fish_seen_subcommand_from git" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s r -l recursive -d 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s p -l platform -d 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l var -d 'Give a variable a value, for the sources and versions of modules' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l var-file -d 'Read values of variables from FILE, as from terraform.tfvars; --var wins' -r -F
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l min-age -d 'Choose no version younger than this, for example 7d [default: that of provlock.toml]' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l opentofu-api -d 'Where registry.opentofu.org tells when versions were published' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l terraform-api -d 'Where registry.terraform.io tells when versions were published' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l fs-mirror -d 'Take packages from a directory instead of the registries' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l net-mirror -d 'Take packages from a network mirror instead of the registries' -r -f
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l oci-mirror -d 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s j -l jobs -d 'How many packages to download and hash at a time [default: 24, or twice the number of cores]' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l cache-dir -d 'Keep the cache of package hashes in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l format -d 'How the result is printed [default: text]' -r -f -a "text\t'For people'
json\t'One JSON object, as with --json'"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l prune -d 'Remove entries that the configuration does not require'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l accept-changed-hashes -d 'Replace hashes that are not those of the published release'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l allow-missing-modules -d 'Go on without modules that are not installed'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l no-tests -d 'Do not count what only test files require'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l no-fetch-modules -d 'Fetch no modules; read only those that are installed'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l constraints -d 'Rewrite version constraints in the configuration so that they allow the newest version'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l pre -d 'Count prereleases as newer versions; only a constraint that names one exactly allows it'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l use-cli-config -d 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l trust-registry -d 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l no-cache -d 'Neither use nor fill the cache of package hashes'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l offline -d 'Ask no host; use the lock file and the cache, and say what is missing'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l check -d 'Write nothing; exit with 1 if something can move'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l dry-run -d 'Write nothing; show what can move, and what holds the rest back'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand upgrade" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provlock -n "__fish_provlock_using_subcommand explain" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand explain" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand explain" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand explain" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand explain" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand explain" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand explain" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand login" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand login" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand login" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand login" -l check -d 'Store nothing; say where the token for the host comes from, without showing it'
complete -c provlock -n "__fish_provlock_using_subcommand login" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand login" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand login" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand login" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand logout" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand logout" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand logout" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand logout" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand logout" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand logout" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand logout" -s h -l help -d 'Print help'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s C -l chdir -d 'Run as if started in DIR' -r -f -a "(__fish_complete_directories)"
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l dialect -d 'Whose rules apply: tofu or terraform [default: detected from the files]' -r
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l color -d 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set' -r -f -a "auto\t''
always\t''
never\t''"
complete -c provlock -n "__fish_provlock_using_subcommand completions" -l json -d 'Print the result as one JSON object on stdout, as --format json does'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s v -l verbose -d 'Say more'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors'
complete -c provlock -n "__fish_provlock_using_subcommand completions" -s h -l help -d 'Print help'
