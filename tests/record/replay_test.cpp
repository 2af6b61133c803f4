// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "purview/limits.hpp"
#include "record/replay.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

using record::ReplayResult;

constexpr std::uint64_t seed = 5;

/// Records 35 ticks of a small world with three clients, the last five frozen, and its shutdown.
std::string record_some(std::uint32_t outsiders = 0) {
    Faults faults;
    faults.loss = 0.1F;
    SmallWorld world(seed, faults);
    for (int i = 0; i < 3; ++i) world.add_client();
    std::stringstream file;
    record::Beginning beginning;
    beginning.program = "test";
    beginning.world_name = "small";
    beginning.schema_hash = world.schema.schema.hash();
    beginning.secret = world.def.secret;
    beginning.options["seed"] = "5";
    record::Writer writer(file, beginning);
    world.recorder->record_to(&writer, 3);
    world.run(20);
    Address outsider;
    outsider.carrier = Address::Carrier::udp;
    for (std::uint32_t i = 0; i < outsiders; ++i) {
        outsider.channel = i;
        world.recorder->receive(std::array<std::byte, 1>{}, outsider, world.now);
        CHECK(world.recorder->address_count() <= 16'384);
    }
    world.run(10);
    world.recorder->note("freeze");
    world.game.frozen = true;
    world.run(5);
    world.recorder->shut_down();
    OutgoingDatagram out;
    while (world.recorder->next_datagram(out)) {
    }
    CHECK(writer.finish());
    return file.str();
}

ReplayResult replay(const std::string& bytes, std::uint64_t world_seed = seed,
                    const std::function<void(Server&)>& after_tick = {}) {
    std::stringstream file(bytes);
    record::Reader reader(file);
    if (!reader.begin()) return {ReplayResult::Outcome::bad_file, reader.problem()};
    SmallWorld world(world_seed, {});
    const auto on_note = [&](std::string_view note) {
        if (note != "freeze") return std::string("an unknown note");
        world.game.frozen = true;
        return std::string();
    };
    return record::replay(reader, *world.server, on_note, [&] {
        if (after_tick) after_tick(*world.server);
    });
}

/// A chunk in file format.
std::string chunk(unsigned type, std::uint32_t size, const std::string& body) {
    record::Bytes bytes;
    bytes.number(type, 1).number(size, 4).text(body);
    return {reinterpret_cast<const char*>(bytes.view().data()), bytes.view().size()};
}

/// A recording up to its first chunk after the header.
std::string beginning_of(const std::string& file) {
    std::uint32_t size = 0;
    for (unsigned i = 0; i < 4; ++i)
        size |= std::uint32_t{static_cast<unsigned char>(file[7 + i])} << (8 * i);
    return file.substr(0, 11 + size);
}

}  // namespace

TEST_CASE("record: a replay reproduces every byte and every state") {
    const ReplayResult result = replay(record_some());
    CHECK(result.text == "");
    CHECK(result.outcome == ReplayResult::Outcome::same);
    CHECK(result.ticks == 35);
    CHECK(result.sent > 60);
    CHECK(result.received > 60);
    CHECK(result.states == 12);
}

TEST_CASE("record: the after-tick callback runs after every tick of a replay") {
    std::vector<Tick> ticks;
    const ReplayResult result = replay(
        record_some(), seed, [&](const Server& server) { ticks.push_back(server.current_tick()); });
    CHECK(result.outcome == ReplayResult::Outcome::same);
    REQUIRE(ticks.size() == result.ticks);
    for (std::size_t i = 0; i < ticks.size(); ++i) CHECK(ticks[i] == i + 1);
}

TEST_CASE("record: stored addresses stay bounded with 40,000 peers, and replay the same") {
    const ReplayResult result = replay(record_some(40'000));
    CHECK(result.outcome == ReplayResult::Outcome::same);
    CHECK(result.received > 40'000);
}

TEST_CASE("record: the header is read back as it was written") {
    std::stringstream file(record_some());
    record::Reader reader(file);
    const auto beginning = reader.begin();
    REQUIRE(beginning);
    CHECK(beginning->program == "test");
    CHECK(beginning->world_name == "small");
    CHECK(beginning->secret[0] == std::byte{42});
    CHECK(beginning->options.at("seed") == "5");
}

TEST_CASE("record: a replay with another world differs before the first event") {
    const ReplayResult result = replay(record_some(), seed + 1);
    CHECK(result.outcome == ReplayResult::Outcome::differs);
    CHECK(result.text.find("tick 0: the state hash differs") == 0);
}

TEST_CASE("record: a recording that is cut short anywhere is a bad file") {
    const std::string whole = record_some();
    for (std::size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 997) {
        const ReplayResult result = replay(whole.substr(0, size));
        REQUIRE(result.outcome == ReplayResult::Outcome::bad_file);
        REQUIRE(result.text.find("truncated") != std::string::npos);
    }
}

TEST_CASE("record: a write failure ends the recording and is reported once") {
    SmallWorld world(seed, {});
    world.add_client();
    std::stringstream file;
    record::Writer writer(file, {});
    world.recorder->record_to(&writer, 3);
    int reports = 0;
    world.recorder->on_lost = [&] { ++reports; };
    world.run(6);
    CHECK(reports == 0);
    file.setstate(std::ios::badbit);
    world.run(20);
    CHECK(reports == 1);
    CHECK(!world.recorder->is_recording());
    CHECK(!writer.finish());
}

TEST_CASE("record: a changed byte is detected at any position") {
    const std::string whole = record_some();
    for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 1009) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        const ReplayResult result = replay(damaged);
        REQUIRE(result.outcome == ReplayResult::Outcome::bad_file);  // not a server that differs
        REQUIRE(result.text != "");
    }
}

TEST_CASE("record: invalid lengths, types and bodies are refused with a message") {
    const std::string begin = beginning_of(record_some());
    const auto verdict = [&](const std::string& more, const std::string& what) {
        const ReplayResult result = replay(begin + more);
        CHECK(result.outcome == ReplayResult::Outcome::bad_file);
        CHECK_MESSAGE(result.text.find(what) != std::string::npos, result.text);
    };
    verdict("", "truncated");
    verdict(chunk(4, 0xffffffffU, ""), "too large");
    verdict(chunk(4, record::chunk_bytes_max, "short"), "truncated");
    verdict(chunk(0, 0, ""), "unknown type");
    verdict(chunk(13, 0, ""), "unknown type");
    verdict(chunk(4, 3, "abc"), "malformed");
    verdict(chunk(2, 22, std::string(22, '\0')), "malformed");
    verdict(chunk(3, 12, std::string(12, '\0')), "malformed");  // no peer has address 0
    verdict(chunk(5, 4, std::string(4, '\7')), "malformed");
    verdict(chunk(7, 11, std::string(11, '\0')), "malformed");
    verdict(chunk(8, 4, std::string(4, '\0')), "malformed");
    verdict(chunk(1, 0, ""), "malformed");
    verdict(chunk(11, 3, "huh"), "unknown note");
    verdict(chunk(12, 4, "abcd"), "checksum");
    CHECK(replay("PVR").text.find("truncated") != std::string::npos);
    CHECK(replay(std::string("PVWR\1\0", 6)).text.find("not a recording") != std::string::npos);
    CHECK(replay(std::string("PVRC\2\0", 6)).text.find("has version 2, not 1") !=
          std::string::npos);
    std::string other = begin;
    other[11] = other[12] = 1;
    CHECK(replay(other).text.find("has protocol version 257, not " +
                                  std::to_string(limits::protocol_version)) != std::string::npos);
    CHECK(replay(record_some() + "x").text.find("after the end") != std::string::npos);
}

TEST_CASE("record: a missing event makes the replay differ") {
    const std::string whole = record_some();
    const auto without_first = [&](unsigned drop_type) {
        std::string out = beginning_of(whole);
        bool dropped = false;
        for (std::size_t at = out.size(); at < whole.size();) {
            std::uint32_t size = 0;
            for (unsigned i = 0; i < 4; ++i)
                size |= std::uint32_t{static_cast<unsigned char>(whole[at + 1 + i])} << (8 * i);
            const bool drop = !dropped && static_cast<unsigned char>(whole[at]) == drop_type;
            if (!drop) out += whole.substr(at, 5 + size);
            dropped = dropped || drop;
            at += 5 + size;
        }
        // Recomputes the checksum, so that the file is valid.
        constexpr std::size_t end_bytes = 5 + 4;
        const std::size_t end = out.size() - end_bytes;
        const std::uint32_t crc = record::crc32(0, std::as_bytes(std::span(out.data(), end)));
        for (unsigned i = 0; i < 4; ++i) out[end + 5 + i] = static_cast<char>(crc >> (8 * i));
        return replay(out);
    };
    CHECK(without_first(5).outcome == ReplayResult::Outcome::differs);  // sent
    CHECK(without_first(3).outcome == ReplayResult::Outcome::differs);  // received
    CHECK(without_first(4).outcome == ReplayResult::Outcome::differs);  // tick
}

TEST_CASE("record: the last four files are kept, one that cannot be renamed stays") {
    namespace fs = std::filesystem;
    const fs::path position =
        fs::temp_directory_path() / ("purview_keep_" + std::to_string(getpid()));
    fs::create_directory(position);
    const std::string path = (position / "a.pvrec").string();
    const auto text_in = [&](const std::string& name) {
        std::stringstream text;
        text << std::ifstream(name).rdbuf();
        return text.str();
    };
    std::error_code error;
    CHECK_FALSE(record::keep_old(path, error));
    for (int run = 1; run <= 7; ++run) {
        std::ofstream(path) << "run " << run;
        CHECK(record::keep_old(path, error));
        CHECK_FALSE(fs::exists(path));
        for (int back = 1; back <= std::min(run, 4); ++back)
            CHECK(text_in(path + "." + std::to_string(back)) ==
                  "run " + std::to_string(run + 1 - back));
    }
    CHECK_FALSE(fs::exists(path + ".5"));
    std::ofstream(path).flush();  // empty
    CHECK_FALSE(record::keep_old(path, error));
    CHECK_FALSE(record::keep_old("/dev/null", error));
    CHECK_FALSE(error);
    // A name of the maximum length.
    const std::string longest = (position / std::string(255, 'a')).string();
    std::ofstream(longest) << "run 0";
    CHECK_FALSE(record::keep_old(longest, error));
    CHECK(error == std::errc::filename_too_long);
    CHECK(text_in(longest) == "run 0");
    fs::remove_all(position);
}

}  // namespace purview::test
