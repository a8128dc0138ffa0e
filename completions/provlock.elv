
use builtin;
use str;

set edit:completion:arg-completer[provlock] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'provlock'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'provlock'= {
            cand -C 'Run as if started in DIR'
            cand --chdir 'Run as if started in DIR'
            cand --dialect 'Whose rules apply: tofu or terraform [default: detected from the files]'
            cand --color 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand lock 'Lock every required provider for every platform'
            cand verify 'Check that the lock file fits its configuration, the policy and what is published'
            cand completions 'Print a completion script for a shell'
        }
        &'provlock;lock'= {
            cand -p 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]'
            cand --platform 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]'
            cand --fs-mirror 'Take packages from a directory instead of the registries'
            cand --net-mirror 'Take packages from a network mirror instead of the registries'
            cand -j 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --jobs 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --cache-dir 'Keep the cache of package hashes in DIR'
            cand -C 'Run as if started in DIR'
            cand --chdir 'Run as if started in DIR'
            cand --dialect 'Whose rules apply: tofu or terraform [default: detected from the files]'
            cand --color 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set'
            cand --prune 'Remove entries that the configuration does not require'
            cand --accept-changed-hashes 'Replace hashes that are not those of the published release'
            cand --allow-missing-modules 'Go on without modules that are not installed'
            cand --no-tests 'Do not count what only test files require'
            cand --no-cache 'Neither use nor fill the cache of package hashes'
            cand --check 'Write nothing; exit with 1 if the lock file would change'
            cand --dry-run 'Write nothing; print the change as a diff'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'provlock;verify'= {
            cand -p 'Platforms that must be covered, or `all` [default: those of provlock.toml]'
            cand --platform 'Platforms that must be covered, or `all` [default: those of provlock.toml]'
            cand --base 'Judge the change since this commit'
            cand --fs-mirror 'Take packages from a directory instead of the registries'
            cand --net-mirror 'Take packages from a network mirror instead of the registries'
            cand -j 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --jobs 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --cache-dir 'Keep the cache of package hashes in DIR'
            cand --format 'How findings are printed'
            cand --deny 'Take this finding for an error'
            cand --warn 'Take this finding for a warning'
            cand --allow 'Leave this finding out'
            cand -C 'Run as if started in DIR'
            cand --chdir 'Run as if started in DIR'
            cand --dialect 'Whose rules apply: tofu or terraform [default: detected from the files]'
            cand --color 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set'
            cand -r 'Check every root module below'
            cand --recursive 'Check every root module below'
            cand --online 'Ask the registries whether every hash is one that was published'
            cand --installed 'Compare the packages in .terraform/providers with the lock file'
            cand --no-tests 'Do not count what only test files require'
            cand --no-cache 'Neither use nor fill the cache of package hashes'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'provlock;completions'= {
            cand -C 'Run as if started in DIR'
            cand --chdir 'Run as if started in DIR'
            cand --dialect 'Whose rules apply: tofu or terraform [default: detected from the files]'
            cand --color 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
    ]
    $completions[$command]
}
