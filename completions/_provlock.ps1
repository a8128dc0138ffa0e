
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
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('lock', 'lock', [CompletionResultType]::ParameterValue, 'Lock every required provider for every platform')
            [CompletionResult]::new('verify', 'verify', [CompletionResultType]::ParameterValue, 'Check that the lock file fits its configuration, the policy and what is published')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            break
        }
        'provlock;lock' {
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--prune', '--prune', [CompletionResultType]::ParameterName, 'Remove entries that the configuration does not require')
            [CompletionResult]::new('--accept-changed-hashes', '--accept-changed-hashes', [CompletionResultType]::ParameterName, 'Replace hashes that are not those of the published release')
            [CompletionResult]::new('--allow-missing-modules', '--allow-missing-modules', [CompletionResultType]::ParameterName, 'Go on without modules that are not installed')
            [CompletionResult]::new('--no-tests', '--no-tests', [CompletionResultType]::ParameterName, 'Do not count what only test files require')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Write nothing; exit with 1 if the lock file would change')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Write nothing; print the change as a diff')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'provlock;verify' {
            [CompletionResult]::new('-p', '-p', [CompletionResultType]::ParameterName, 'Platforms that must be covered, or `all` [default: those of provlock.toml]')
            [CompletionResult]::new('--platform', '--platform', [CompletionResultType]::ParameterName, 'Platforms that must be covered, or `all` [default: those of provlock.toml]')
            [CompletionResult]::new('--base', '--base', [CompletionResultType]::ParameterName, 'Judge the change since this commit')
            [CompletionResult]::new('--fs-mirror', '--fs-mirror', [CompletionResultType]::ParameterName, 'Take packages from a directory instead of the registries')
            [CompletionResult]::new('--net-mirror', '--net-mirror', [CompletionResultType]::ParameterName, 'Take packages from a network mirror instead of the registries')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: twice the number of cores]')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many packages to download and hash at a time [default: twice the number of cores]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Keep the cache of package hashes in DIR')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How findings are printed')
            [CompletionResult]::new('--deny', '--deny', [CompletionResultType]::ParameterName, 'Take this finding for an error')
            [CompletionResult]::new('--warn', '--warn', [CompletionResultType]::ParameterName, 'Take this finding for a warning')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Leave this finding out')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Check every root module below')
            [CompletionResult]::new('--recursive', '--recursive', [CompletionResultType]::ParameterName, 'Check every root module below')
            [CompletionResult]::new('--online', '--online', [CompletionResultType]::ParameterName, 'Ask the registries whether every hash is one that was published')
            [CompletionResult]::new('--installed', '--installed', [CompletionResultType]::ParameterName, 'Compare the packages in .terraform/providers with the lock file')
            [CompletionResult]::new('--no-tests', '--no-tests', [CompletionResultType]::ParameterName, 'Do not count what only test files require')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor fill the cache of package hashes')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'provlock;completions' {
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--chdir', '--chdir', [CompletionResultType]::ParameterName, 'Run as if started in DIR')
            [CompletionResult]::new('--dialect', '--dialect', [CompletionResultType]::ParameterName, 'Whose rules apply: tofu or terraform [default: detected from the files]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour; auto: on a terminal, unless `NO_COLOR` is set')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object on stdout')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more; repeat for more still')
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
