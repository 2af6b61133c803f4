// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs a fuzz target on fresh seeds and on the files of the given directories. Detects regressions
// of fixed bugs, and features that fresh seeds do not reach. With --write DIR it only writes the
// fresh seeds, as initial inputs of libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int write_to(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    std::size_t number = 0;
    for (const std::string& seed : fresh_seeds()) {
        std::ofstream out(directory / ("seed-" + std::to_string(number++)), std::ios::binary);
        if (!out.write(seed.data(), static_cast<std::streamsize>(seed.size())).flush()) return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--write") return write_to(argv[2]);
    std::size_t inputs = 0;
    const auto run = [&](const std::string& bytes) {
        (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                     bytes.size());
        ++inputs;
    };
    for (const std::string& seed : fresh_seeds()) run(seed);
    const char* const missed = never_reached();
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream in(entry.path(), std::ios::binary);
            run({std::istreambuf_iterator<char>(in), {}});
        }
    }
    std::printf("%zu inputs\n", inputs);
    if (missed != nullptr) {
        std::fprintf(stderr, "no fresh seed reaches: %s\n", missed);
        return 1;
    }
    return inputs > 0 ? 0 : 1;
}
