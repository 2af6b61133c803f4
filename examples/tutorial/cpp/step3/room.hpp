// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include <cstring>
#include <purview/schema.hpp>
#include <string>

struct Body {
    purview::Vec3 at;
    char name[16] = {};
    bool walks = false;
};

struct Goal {
    float x = 0, y = 0;
};

struct Room {
    Room() { schema.set_position(body.id); }

    purview::Schema schema;
    purview::Component<Body> body = schema.component<Body>("body")
                                        .quantized({"x", "y"}, &Body::at, {0, 100, 0.01})
                                        .boolean("walks", &Body::walks)
                                        .text("name", &Body::name);
    purview::KindId player = schema.kind("player", {body.id});
};

// A full text field has no zero at its end. Its bytes may come from a player: print only ASCII.
template <std::size_t size>
std::string text_of(const char (&field)[size]) {
    std::string text(field, strnlen(field, size));
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}
