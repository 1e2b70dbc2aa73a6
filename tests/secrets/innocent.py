"""500 texts without a secret that look a little like one."""

import base64
import hashlib
import uuid
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final

COUNT: Final = 500
SEED: Final = 500

PROSE: Final = """
the password field is empty
the password is required and must have at least 12 characters
Password: required
password: string
"password": "Passwort"
password reset works again, see tests/unit/test_password_reset.py
passwords are hashed with argon2id (time_cost=3, memory_cost=65536)
the user forgot their password twice; the token was sent by mail
password=None, token=None
def login(user: str, password: str) -> Session:
login(user=user, password=password)
self.password = self.settings.password
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
DB_PASSWORD=${DB_PASSWORD}
DB_PASSWORD=$DB_PASSWORD pytest
DB_PASSWORD=<your password>
export DB_PASSWORD="$(pass show db)"
PGPASSWORD={{ vault_db_password }}
DB_PASSWORD=********
SHOW_PASSWORD=true
password: ${link}
<input type="password" name="password" required>
password_confirmation must match password
PWD=/home/ada/project
pwd: /srv/app/current
OLDPWD=/tmp
token budget: 2000
token limit: 200000 tokens per minute
max_tokens=4096
max_tokens: 8192
--max-tokens 4096
--token-budget=2000
tokens: 1234567 in, 89012 out
the tokenizer splits 1000 tokens into 750 words
token ring, token bucket, token stream
TOKEN_LIMIT=100000
access token expired, refreshing
use --token to pass a token
use `--password` or the variable DB_PASSWORD
run with --api-key flag
--secret id=npmrc,src=.npmrc
curl -u "$USER:$PASSWORD" https://example.com
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
https://example.com/login?next=/home&lang=en
https://example.com/?page=2&sort=token
https://example.com/reset?token=<token>
https://example.com/reset?token=...
https://example.com/search?q=secret+santa&page=3
https://user@example.com/path
https://example.com:8443/a/b?x=1#top
postgres://localhost:5432/app
redis://cache:6379/0
git@github.com:example/project.git
the secret of good tests is naming
secret: see the vault, path secret/data/app
secrets are redacted before anything is written
the key is under the mat
primary_key: user_id
foreign key on orders.user_id
key: test_merge_2_events
cache_key = f"{user_id}:{page}"
sort by key, then by value: 12 of 15 done
keyboard shortcut: ctrl+shift+p
public key: see docs
api version: 2024-10-01
api_version=v1beta1
the API returned 404 for /v1/items/12345
author: Ada Lovelace
auth middleware moved to src/auth/middleware.ts
authorization was denied for role admin
accessor: getUserById
access log: 127.0.0.1 - - [10/Oct/2026:13:55:36 +0000]
credentials are read from the keychain
-----BEGIN CERTIFICATE-----
sk-learn and scikit-learn are the same
task-12345678901234567890123456789012
disk-usage: 85%
css: .sk-spinner { color: #ff00aa }
ey-catching headline. eyJ is how base64 of JSON begins
the sum is 3:AAA and the ratio 10:1
at 12:34:56 it failed with exit code 137
GET /api/v1/users?limit=50&offset=100 200 12ms
ports: 127.0.0.1:5432:5432
"""
FILES: Final = (
    "src/core/auth/token_store.py",
    "tests/unit/test_password_reset.py",
    "docs/how-to/api-keys.md",
)


@cache
def make_innocent() -> tuple[str, ...]:
    """Return the texts; they are the same each time."""
    random = Random(SEED)
    texts = dict.fromkeys(line for line in PROSE.splitlines() if line)
    for text in _make(random):
        if len(texts) == COUNT:
            break
        texts[text] = None
    return tuple(texts)


def _make(random: Random) -> Iterator[str]:
    """Yield texts with parts that only look random, one of each kind in turn."""
    while True:
        data = random.randbytes(64)
        number = random.randrange(10**6)
        sha1, sha256 = hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest()  # noqa: S324 - a name
        yield f"commit {sha1}"
        yield f"mended in {sha1[:10]}, reverted in {sha1[10:17]}"
        yield f"session {uuid.UUID(bytes=data[:16])} was resumed"
        yield f"image: registry.example.com/app@sha256:{sha256}"
        yield f'"integrity": "sha512-{base64.b64encode(data).decode()}"'
        yield f"sha256sum: {sha256}  dist/app-{number % 9}.{number % 13}.{number % 99}.tar.gz"
        yield f"{FILES[number % 3]}:{number % 400}: error in line {number % 400}"
        yield f"tests/unit/test_tokens.py::test_token_{number}_is_refused[{number % 7}-None] PASSED"
        yield f"import {{ useToken{number} }} from '../auth/useToken'"
        yield f"from app.auth.tokens import TokenStore{number % 9}, make_token, parse_password"
        yield f"color: #{sha1[:6]}; background: url(data:image/png;base64,{_picture(data)})"
        yield f"wrapped: {_wrap(f'this is only a note about release {number}, nothing else')}"
        yield f"version {number % 9}.{number % 30}.{number % 17}-rc.{number % 5}+build.{number}"
        yield f"https://example.com/blob/{sha1}/src/main.py#L{number % 900}"
        yield f"https://cdn.example.com/assets/index-{sha1[:8]}.js?v={number}"
        yield f"event ev-{sha1[:12]} covers 1-{number % 90}, retracted by ev-{sha1[12:24]}"
        yield f"took {number % 900} ms, {number} tokens, {number % 100} % of the budget"
        yield f"2026-01-{number % 28 + 1:02}T12:{number % 60:02}:00Z worker-{number % 16} key={number}"
        yield f"migrations/{number:06}_add_password_hash_to_users.sql"
        yield f"cache key {sha1[:16]} missed, {number} hits"
        yield f'etag: W/"{number:x}-{sha1[:10]}"'
        yield f"arn:aws:sns:eu-west-1:{number:012}:alerts"
        yield f"pytest -k 'password and not token' -n {number % 8} --maxfail={number % 5}"


def _wrap(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _picture(data: bytes) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data[:24]).decode()
