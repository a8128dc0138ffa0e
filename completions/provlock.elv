
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
            cand --color 'When to use colour'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand lock 'Lock every required provider for every platform'
            cand upgrade 'Move providers to newer versions'
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
            cand --color 'When to use colour'
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
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'provlock;upgrade'= {
            cand -p 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]'
            cand --platform 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]'
            cand --min-age 'Choose no version younger than this, for example 7d [default: that of provlock.toml]'
            cand --opentofu-api 'Where registry.opentofu.org tells when versions were published'
            cand --terraform-api 'Where registry.terraform.io tells when versions were published'
            cand --fs-mirror 'Take packages from a directory instead of the registries'
            cand --net-mirror 'Take packages from a network mirror instead of the registries'
            cand -j 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --jobs 'How many packages to download and hash at a time [default: twice the number of cores]'
            cand --cache-dir 'Keep the cache of package hashes in DIR'
            cand -C 'Run as if started in DIR'
            cand --chdir 'Run as if started in DIR'
            cand --dialect 'Whose rules apply: tofu or terraform [default: detected from the files]'
            cand --color 'When to use colour'
            cand --prune 'Remove entries that the configuration does not require'
            cand --accept-changed-hashes 'Replace hashes that are not those of the published release'
            cand --allow-missing-modules 'Go on without modules that are not installed'
            cand --no-tests 'Do not count what only test files require'
            cand --constraints 'Rewrite version constraints in the configuration so that they allow the newest version'
            cand --pre 'Count prereleases as newer versions; only a constraint that names one exactly allows it'
            cand --no-cache 'Neither use nor fill the cache of package hashes'
            cand --check 'Write nothing; exit with 1 if something can move'
            cand --dry-run 'Write nothing; show what can move, and what holds the rest back'
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
            cand --color 'When to use colour'
            cand --json 'Print the result as one JSON object on stdout'
            cand -v 'Say more; repeat for more still'
            cand --verbose 'Say more; repeat for more still'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
    ]
    $completions[$command]
}
