#!/usr/bin/env python3
"""Changes the packets of an armored public key (stdin to stdout) in ways that gpg does not offer."""
import base64, sys

def split(data):
    """Old and new format packets with definite lengths, as (tag, body)."""
    while data:
        head = data[0]
        if head & 0x40:
            tag, first = head & 63, data[1]
            start, length = (2, first) if first < 192 else (3, ((first - 192) << 8) + data[2] + 192)
        else:
            size = 1 << (head & 3)
            tag, start, length = (head & 63) >> 2, 1 + size, int.from_bytes(data[1:1 + size], 'big')
        yield tag, data[start:start + length]
        data = data[start + length:]

def subpackets(data):
    while data:
        start, length = (1, data[0]) if data[0] < 192 else (2, ((data[0] - 192) << 8) + data[1] + 192)
        yield data[:start + length], data[start] & 127
        data = data[start + length:]

def without_back_signature(body):
    at = 6 + int.from_bytes(body[4:6], 'big')
    end = at + 2 + int.from_bytes(body[at:at + 2], 'big')
    kept = b''.join(whole for whole, kind in subpackets(body[at + 2:end]) if kind != 32)
    return body[:at] + len(kept).to_bytes(2, 'big') + kept + body[end:]

def change(how, packets):
    if how == 'drop-user-id':
        return [(tag, body) for tag, body in packets if tag != 13]
    if how == 'only-first-user-id':
        second = [index for index, (tag, _) in enumerate(packets) if tag == 13][1]
        return packets[:second]
    if how == 'drop-signatures':
        return [(tag, body) for tag, body in packets if tag != 2]
    if how == 'spoil-signature':
        return [(tag, body[:-1] + bytes([body[-1] ^ 1]) if tag == 2 else body) for tag, body in packets]
    if how == 'strip-back-signature':
        return [(tag, without_back_signature(body) if tag == 2 and body[1] == 0x18 else body) for tag, body in packets]
    raise SystemExit(how)

lines = sys.stdin.read().splitlines()
body = lines[lines.index('') + 1:-1]
data = base64.b64decode(''.join(line for line in body if not line.startswith('=')))
if sys.argv[1] == 'cut':
    data = data[:-40]
else:
    data = b''.join(bytes([0xc0 | tag, 255]) + len(body).to_bytes(4, 'big') + body for tag, body in change(sys.argv[1], list(split(data))))
text = base64.b64encode(data).decode()
print('-----BEGIN PGP PUBLIC KEY BLOCK-----\n')
print('\n'.join(text[i:i + 64] for i in range(0, len(text), 64)))
print('-----END PGP PUBLIC KEY BLOCK-----')
