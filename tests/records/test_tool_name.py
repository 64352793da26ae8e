from __future__ import annotations

import pytest

from replay.records.tool_name import read_name

FLEET = ("filesystem", "google-maps", "google", "my_server", "excel")


@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("filesystem/read_file", "filesystem", "read_file"),
        ("filesystem__read_file", "filesystem", "read_file"),
        ("filesystem-read_file", "filesystem", "read_file"),
        ("filesystem.read_file", "filesystem", "read_file"),
        ("filesystem:read_file", "filesystem", "read_file"),
        ("mcp__filesystem__read_file", "filesystem", "read_file"),
        ("google-maps-geocode", "google-maps", "geocode"),
        ("google-geocode", "google", "geocode"),
        ("google_maps/geocode", "google-maps", "geocode"),
        ("mcp__google_maps__geocode", "google-maps", "geocode"),
        ("Excel-read", "excel", "read"),
        ("my-server/x/y", "my_server", "x/y"),
        ("functions.filesystem__read_file", "filesystem", "read_file"),
        ("functions.mcp__filesystem__read_file", "filesystem", "read_file"),
        ("functions.google-maps/geocode", "google-maps", "geocode"),
    ],
)
def test_a_name_is_told_apart_with_the_fleets_own_names_longest_first(name, server, tool):
    assert read_name(name, FLEET) == (server, tool)


@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("tmdb/search/movie", "tmdb", "search/movie"),
        ("mcp__wiki__summary", "wiki", "summary"),
        ("wiki__summary", "wiki", "summary"),
        ("wiki-summary", "wiki", "summary"),
        ("wiki.summary", "wiki", "summary"),
        ("functions.wiki__summary", "wiki", "summary"),
        ("fetch-fetch_html", "fetch", "fetch_html"),
        ("video-transcript-get_transcript", "video-transcript", "get_transcript"),
        ("cloud-tables-rows_query", "cloud-tables", "rows_query"),
        ("stock-market-get-price", "stock-market", "get-price"),
        ("notes-API-post-page", "notes", "API-post-page"),
        ("local-python-execute", "local", "python-execute"),
        ("API-post-page", None, "API-post-page"),
        ("resolve-library-id", None, "resolve-library-id"),
        ("get-forecast", None, "get-forecast"),
        ("getForecast.daily", None, "getForecast.daily"),
        ("functions.read_file", None, "read_file"),
        ("functions.", None, "functions."),
        ("read_file", None, "read_file"),
        ("/x", None, "/x"),
        ("server/", None, "server/"),
    ],
)
def test_a_name_of_no_server_in_the_fleet_is_split_by_its_shape(name, server, tool):
    assert read_name(name, FLEET) == (server, tool)


def test_a_tolerant_match_is_taken_only_where_one_server_matches():
    assert read_name("a-b/x", ("a_b", "A-B")) == ("a-b", "x")
    assert read_name("a_b/x", ("a_b", "A-B")) == ("a_b", "x")


def test_a_name_that_merely_begins_like_a_server_is_not_its_tool():
    assert read_name("excellent/x", FLEET) == ("excellent", "x")


def test_a_server_that_is_called_functions_keeps_its_name():
    assert read_name("functions.list", ("functions", "list")) == ("functions", "list")
