
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'provlock' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'provlock'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'provlock' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('lock', 'lock', [CompletionResultType]::ParameterValue, 'Lock every required provider, with its hashes for the platforms asked for')
            [CompletionResult]::new('cache', 'cache', [CompletionResultType]::ParameterValue, 'Show or empty the cache of package hashes')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Check that the lock file fits its configuration, the policy and what is published')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Compare two lock files, provider by provider')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Merge lock files, or repair one that holds conflict markers')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Connect provlock with other programs')
            [CompletionResult]::new('upgrade', 'upgrade', [CompletionResultType]::ParameterValue, 'Move providers to newer versions')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Explain the code of a finding or an error')
            [CompletionResult]::new('login', 'login', [CompletionResultType]::ParameterValue, 'Store the token of a registry or mirror, read without echo or from stdin')
            [CompletionResult]::new('logout', 'logout', [CompletionResultType]::ParameterValue, 'Remove the token of a registry or mirror')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            break
        }
        'provlock;lock' {
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--min-age', '--min-age', [CompletionResultType]::ParameterName, 'Choose no version younger than this, for example 7d [default: that of provlock.toml]')
            [CompletionResult]::new('--opentofu-api', '--opentofu-api', [CompletionResultType]::ParameterName, 'Where registry.opentofu.org tells when versions were published')
            [CompletionResult]::new('--terraform-api', '--terraform-api', [CompletionResultType]::ParameterName, 'Where registry.terraform.io tells when versions were published')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('--oci-mirror', '--oci-mirror', [CompletionResultType]::ParameterName, 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How the result is printed [default: text]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'Remove entries that the configuration does not require')
            [CompletionResult]::new('--accept-changed-hashes', '--accept-changed-hashes', [CompletionResultType]::ParameterName, 'Replace hashes that are not those of the published release')
            [CompletionResult]::new('--allow-missing-modules', '--allow-missing-modules', [CompletionResultType]::ParameterName, 'Go on without modules that are not installed')
            [CompletionResult]::new('--no-tests', '--no-tests', [CompletionResultType]::ParameterName, 'Do not count what only test files require')
            [CompletionResult]::new('--use-cli-config', '--use-cli-config', [CompletionResultType]::ParameterName, 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)')
            [CompletionResult]::new('--trust-registry', '--trust-registry', [CompletionResultType]::ParameterName, 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Ask no host; use the lock file and the cache, and say what is missing')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Write nothing; exit with 1 if the lock file would change or holds a `zh:` that nobody published')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing; print the change as a diff')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;cache' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('dir', 'dir', [CompletionResultType]::ParameterValue, 'Print the directory of the cache')
            [CompletionResult]::new('clean', 'clean', [CompletionResultType]::ParameterValue, 'Remove everything that provlock put there')
            break
        }
        'provlock;cache;dir' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;cache;clean' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;verify' {
            [CompletionResult]::new('--base', '--base', [CompletionResultType]::ParameterName, 'Judge the change since this commit')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms that must be covered, or `all` [default: those of provlock.toml]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms that must be covered, or `all` [default: those of provlock.toml]')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('--oci-mirror', '--oci-mirror', [CompletionResultType]::ParameterName, 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Also write the result to a file, in any of the formats, such as sarif=provlock.sarif')
            [CompletionResult]::new('--deny', '--deny', [CompletionResultType]::ParameterName, 'Take this finding for an error')
            [CompletionResult]::new('--warn', '--warn', [CompletionResultType]::ParameterName, 'Take this finding for a warning')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Leave this finding out')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How the result is printed [default: text]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Check every root module below')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Check every root module below')
            [CompletionResult]::new('--online', '--online', [CompletionResultType]::ParameterName, 'Ask the registries whether every hash is one that was published')
            [CompletionResult]::new('--installed', '--installed', [CompletionResultType]::ParameterName, 'Compare the packages in .terraform/providers with the lock file')
            [CompletionResult]::new('--no-tests', '--no-tests', [CompletionResultType]::ParameterName, 'Do not count what only test files require')
            [CompletionResult]::new('--use-cli-config', '--use-cli-config', [CompletionResultType]::ParameterName, 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)')
            [CompletionResult]::new('--trust-registry', '--trust-registry', [CompletionResultType]::ParameterName, 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;diff' {
            [CompletionResult]::new('--git', '--git', [CompletionResultType]::ParameterName, 'Compare a revision with the working tree, or two: REV, OLD..NEW or, from their merge base, OLD...NEW')
            [CompletionResult]::new('--textconv', '--textconv', [CompletionResultType]::ParameterName, 'Print FILE with one line per provider, for `git diff`')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How the result is printed [default: text]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Compare every lock file in this directory and below that git knows')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Compare every lock file in this directory and below that git knows')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'Exit with 1 if there are differences')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;merge' {
            [CompletionResult]::new('--path', '--path', [CompletionResultType]::ParameterName, 'The path that the file belongs at, git''s %P: what messages call it, and in whose directory --resolve finds the configuration [default: FILE or OURS]')
            [CompletionResult]::new('--marker-size', '--marker-size', [CompletionResultType]::ParameterName, 'How many characters a conflict marker has; git''s %L')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('--oci-mirror', '--oci-mirror', [CompletionResultType]::ParameterName, 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How the result is printed [default: text]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--resolve', '--resolve', [CompletionResultType]::ParameterName, 'Lock the providers in conflict again, as `provlock lock` does, instead of leaving conflicts')
            [CompletionResult]::new('--use-cli-config', '--use-cli-config', [CompletionResultType]::ParameterName, 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)')
            [CompletionResult]::new('--trust-registry', '--trust-registry', [CompletionResultType]::ParameterName, 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Ask no host; use the lock file and the cache, and say what is missing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;setup' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('git', 'git', [CompletionResultType]::ParameterValue, 'Let git compare and merge lock files with provlock')
            break
        }
        'provlock;setup;git' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--write', '--write', [CompletionResultType]::ParameterName, 'Add the lines to .gitattributes and to this clone''s configuration')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;upgrade' {
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Every root module below the PATHs [default: .]; what `.gitignore` names is left out')
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--min-age', '--min-age', [CompletionResultType]::ParameterName, 'Choose no version younger than this, for example 7d [default: that of provlock.toml]')
            [CompletionResult]::new('--opentofu-api', '--opentofu-api', [CompletionResultType]::ParameterName, 'Where registry.opentofu.org tells when versions were published')
            [CompletionResult]::new('--terraform-api', '--terraform-api', [CompletionResultType]::ParameterName, 'Where registry.terraform.io tells when versions were published')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('--oci-mirror', '--oci-mirror', [CompletionResultType]::ParameterName, 'Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: 24, or twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How the result is printed [default: text]')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'Remove entries that the configuration does not require')
            [CompletionResult]::new('--accept-changed-hashes', '--accept-changed-hashes', [CompletionResultType]::ParameterName, 'Replace hashes that are not those of the published release')
            [CompletionResult]::new('--allow-missing-modules', '--allow-missing-modules', [CompletionResultType]::ParameterName, 'Go on without modules that are not installed')
            [CompletionResult]::new('--no-tests', '--no-tests', [CompletionResultType]::ParameterName, 'Do not count what only test files require')
            [CompletionResult]::new('--constraints', '--constraints', [CompletionResultType]::ParameterName, 'Rewrite version constraints in the configuration so that they allow the newest version')
            [CompletionResult]::new('--pre', '--pre', [CompletionResultType]::ParameterName, 'Count prereleases as newer versions; only a constraint that names one exactly allows it')
            [CompletionResult]::new('--use-cli-config', '--use-cli-config', [CompletionResultType]::ParameterName, 'Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)')
            [CompletionResult]::new('--trust-registry', '--trust-registry', [CompletionResultType]::ParameterName, 'Record the hashes that a registry reports without downloading packages, once they fit the signed checksums')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Ask no host; use the lock file and the cache, and say what is missing')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Write nothing; exit with 1 if something can move')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing; show what can move, and what holds the rest back')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;explain' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;login' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Store nothing; say where the token for the host comes from, without showing it')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;logout' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;completions' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout, as --format json does')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
