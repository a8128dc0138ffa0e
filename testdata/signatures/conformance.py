#!/usr/bin/env python3
"""Writes conformance.json: what the conformance kit (first argument) holds about authentication, case by case.

A case is a provider's answers, the policy, and the hashes that the reference program recorded, or null if it refused.
"""
import base64, fnmatch, glob, hashlib, json, os, re, sys

kit, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(kit, 'registry'))
import serve

# About the network, or about more than one provider.
ELSEWHERE = ('down503', 'flaky429', 'liar', 'nested', 'noplat', 'noproto', 'notjson', 'oldproto-3', 'redir', 'severalerrors', 'sums404',
             'sumsflaky', 'token', 'tokenbad', 'truncflaky', 'upgrade', 'zip404', 'zip429')
DEFAULT_HOST = {'tofu': 'registry.opentofu.org', 'terraform': 'registry.terraform.io'}
data = serve.Data(os.path.join(kit, 'registry/data.tar.xz'))
keys, cases = {}, []
for path in sorted(glob.glob(os.path.join(kit, 'cases/*/*'))):
    dialect, name = path.split('/')[-2:]
    group, _, variant = name.partition('-')
    case = json.load(open(os.path.join(path, 'case.json')))
    if group not in ('gpg', 'reg', 'pkgs') or variant in ELSEWHERE or case['args'][0] != 'lock':
        continue
    source = next(re.search(r'source\s*=\s*"([^"]+)"', open(f).read()) for f in glob.glob(path + '/input/*.tf')).group(1)
    host, provider = (['', *source.split('/')][-3], '/'.join(source.split('/')[-2:]))
    entry = data.provider(*provider.split('/'))
    version = '1.0.0' if '1.0.0' in entry['versions'] else list(entry['versions'])[-1]
    wanted = [case['args'][i + 1] for i, word in enumerate(case['args']) if word == '--platform']
    out = os.path.join(path, 'out.lock.hcl')
    recorded = None
    if os.path.exists(out) and case['expect'] != 'error':
        text = open(out).read()
        recorded = re.findall(r'"((?:h1|zh|h9):[^"]+)"', text)
        version = re.search(r'version\s*=\s*"([^"]+)"', text).group(1)
    release = entry['versions'][version]
    folder, kind = f'{provider}/{version}/', provider.split('/')[1]
    sums = f'{folder}terraform-provider-{kind}_{version}_SHA256SUMS'
    if dialect == 'tofu' and data.file(sums + '.sig') is None:
        continue  # refused because the signature cannot be fetched
    archives = {}
    for platform in wanted:
        about = release['platforms'][platform]
        archive = data.file(folder + about['filename'])
        shasum = entry['opts'].get('patch', {}).get('shasum', about['shasum'])
        archives[platform] = {
            'filename': entry['opts'].get('patch', {}).get('filename', about['filename']),
            'shasum': shasum.upper() if entry['opts'].get('uppershasum') else shasum,
            'size': len(archive), 'sum': hashlib.sha256(archive).hexdigest(), 'h1': serve.h1_of_zip(archive)}
    for key in entry['keys']:
        keys.setdefault(key['ascii_armor'], f'{key["key_id"]}-{len(keys)}')
    env = case.get('env') or {}
    cases.append({
        'name': f'{dialect}/{name}', 'dialect': dialect,
        'default_host': host in ('', DEFAULT_HOST[dialect]),
        'enforce_validation': env.get('OPENTOFU_ENFORCE_GPG_VALIDATION') == 'true',
        'enforce_expiration': env.get('OPENTOFU_ENFORCE_GPG_EXPIRATION') == 'true',
        'keys': [keys[key['ascii_armor']] for key in entry['keys']],
        'sums': data.file(sums).decode(), 'signature': base64.b64encode(data.file(sums + '.sig') or b'').decode(),
        'archives': archives, 'packages': release.get('packages'), 'recorded': recorded})
with open(os.path.join(here, 'conformance.json'), 'w') as f:
    lines = ',\n'.join(json.dumps(case) for case in cases)
    f.write('{"keys": %s,\n"cases": [\n%s\n]}\n' % (json.dumps({name: armor for armor, name in keys.items()}, indent=1), lines))
print(len(cases), 'cases,', sum(case['recorded'] is None for case in cases), 'refused')
