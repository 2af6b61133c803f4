# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Encryption": its functions, keys and packets, from the RFCs, with the standard library only. For checks:
nothing here is fast or takes constant time."""

import base64
import hashlib
import hmac as standard_hmac

TAG_BYTES = 16
ANSWER, ACCEPT, DATA, CLOSE, PATH_CHALLENGE, PATH_ANSWER = range(8, 14)
CLOSE_NUMBER = 1 << 56
LABELS = {"handshake_to_server": b"purview handshake to server", "handshake_to_client": b"purview handshake to client",
          "packets_to_server": b"purview packets to server", "packets_to_client": b"purview packets to client"}
TOKEN_LABEL = b"purview connect token"


def little(value, size):
    return value.to_bytes(size, "little")


def number_of(data):
    return int.from_bytes(data, "little")


# -- functions ---------------------------------------------------------------------------------------


def hmac(key, *parts):
    return standard_hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def mac(key, *parts):
    return hmac(key, *parts)[:TAG_BYTES]


def rotate(word, count):
    return (word << count | word >> (32 - count)) & 0xFFFFFFFF


def quarter_round(state, a, b, c, d):
    for first, second, third, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[first] = (state[first] + state[second]) & 0xFFFFFFFF
        state[third] = rotate(state[third] ^ state[first], count)


def chacha20_block(key, counter, nonce):
    """RFC 8439, 2.3."""
    words = [number_of(part[i:i + 4]) for part in (b"expand 32-byte k", key, little(counter, 4) + nonce)
             for i in range(0, len(part), 4)]
    state = list(words)
    for _ in range(10):
        for i in range(4):
            quarter_round(state, i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter_round(state, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return b"".join(little((word + start) & 0xFFFFFFFF, 4) for word, start in zip(state, words))


def chacha20(key, counter, nonce, data):
    out = bytearray()
    for i in range(0, len(data), 64):
        block = chacha20_block(key, counter + i // 64, nonce)
        out += bytes(x ^ y for x, y in zip(data[i:i + 64], block))
    return bytes(out)


def poly1305(key, data):
    """RFC 8439, 2.5."""
    factor = number_of(key[:16]) & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for i in range(0, len(data), 16):
        total = (total + number_of(data[i:i + 16] + b"\x01")) * factor % ((1 << 130) - 5)
    return little((total + number_of(key[16:])) % (1 << 128), 16)


def padded(data):
    return data + bytes(-len(data) % 16)


def aead_tag(key, nonce, clear, sealed):
    """RFC 8439, 2.8."""
    text = padded(clear) + padded(sealed) + little(len(clear), 8) + little(len(sealed), 8)
    return poly1305(chacha20_block(key, 0, nonce)[:32], text)


def nonce_of(number):
    return bytes(4) + little(number, 8)


def seal(key, number, clear, text):
    """Returns the sealed text and its tag."""
    sealed = chacha20(key, 1, nonce_of(number), text)
    return sealed, aead_tag(key, nonce_of(number), clear, sealed)


def open_sealed(key, number, clear, sealed, tag):
    """Returns the text, or None if it is not genuine."""
    if aead_tag(key, nonce_of(number), clear, sealed) != tag:
        return None
    return chacha20(key, 1, nonce_of(number), sealed)


def x25519(scalar, point):
    """RFC 7748, 5."""
    prime = (1 << 255) - 19
    bits = bytearray(scalar)
    bits[0] &= 248
    bits[31] = bits[31] & 127 | 64
    k = number_of(bits)
    u = number_of(point) & ((1 << 255) - 1)
    x1, x2, z2, x3, z3, swap = u, 1, 0, u, 1, 0
    for t in range(254, -1, -1):
        bit = k >> t & 1
        if swap != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb, aa, bb = d * a, c * b, a * a, b * b
        x3, z3 = (da + cb) ** 2 % prime, x1 * (da - cb) ** 2 % prime
        x2, z2 = aa * bb % prime, (aa - bb) * (aa + 121665 * (aa - bb)) % prime
    if swap:
        x2, z2 = x3, z3
    return little(x2 * pow(z2, prime - 2, prime) % prime, 32)


# -- keys --------------------------------------------------------------------------------------------


def derived_key(secret, label, nonce, connection):
    return b"".join(mac(secret, label, little(nonce, 8), little(connection, 8), little(half, 1)) for half in (0, 1))


def answer_key(secret, nonce):
    return derived_key(secret, b"purview answer", nonce, 0)


def session_keys(secret, nonce, connection):
    return {name: derived_key(secret, label, nonce, connection) for name, label in LABELS.items()}


def exchanged_secret(own_private, other_public, client_public, server_public):
    return hmac(x25519(own_private, other_public), b"purview key exchange", client_public, server_public)


# -- packets -----------------------------------------------------------------------------------------


def handshake_tag(key, kind, body):
    """The tag of a packet of type 8, 9, 12 or 13."""
    return mac(key, bytes([kind]), body)


def sealed_packet(key, kind, number, clear, text):
    sealed, tag = seal(key, number, clear, text)
    return bytes([kind]) + tag + clear + sealed


def opened_packet(key, number, clear_bytes, packet):
    tag, rest = packet[1:1 + TAG_BYTES], packet[1 + TAG_BYTES:]
    return open_sealed(key, number, rest[:clear_bytes], rest[clear_bytes:], tag)


# -- connect tokens ----------------------------------------------------------------------------------


def written_servers(servers):
    return bytes([len(servers)]) + b"".join(host + little(port, 2) for host, port in servers)


def make_request(key, game, user, token_id, secret, servers, user_data, expires, salt):
    content = little(user, 8) + little(token_id, 8) + secret + written_servers(servers) + little(len(user_data), 2) + user_data
    sealed, tag = seal(hmac(key, TOKEN_LABEL, salt), 0, TOKEN_LABEL + little(game, 8) + little(expires, 8), content)
    return little(expires, 8) + salt + sealed + tag


def make_token(request, secret, servers, expires):
    token = b"PVT1" + little(expires, 8) + secret + written_servers(servers) + little(len(request), 2) + request
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode()
