"""A collector elsewhere: requests in JSON with a token, and its problems as errors."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from localdp.errors import InvalidInputError

_SECONDS = 90.0  # an answer may need a minute


class _NoRedirects(HTTPRedirectHandler):
    """A token is for the server that was named, and for no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Collector:
    """The collector at an address, asked with a token."""

    def __init__(self, url: str, token: str) -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
            raise InvalidInputError(f"the address of a collector begins with https:// or http://, unlike {url!r:.80}")
        if not token.strip():
            raise InvalidInputError("a token is needed: give --token, or set LOCALDP_TOKEN")
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token.strip()}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the collector answers, as a JSON value; None if it says nothing.

        What the collector refuses is an `InvalidInputError` with its reason.
        """
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, self._headers, method=method)  # noqa: S310 (the scheme was checked)
        try:
            with build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
                answer = response.read()
        except HTTPError as error:
            raise InvalidInputError(f"the collector refuses: {_reason(error)}") from None
        except URLError as error:
            raise ConnectionError(f"{self.url} does not answer: {error.reason}") from None
        return json.loads(answer) if answer else None


def _reason(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read(100_000))["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}"
