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

struct Line {
    char text[31] = {};
};

struct Cloak {
    bool is_on = false;
};

struct Room {
    Room() { schema.set_position(body.id); }

    purview::Schema schema;
    purview::Component<Body> body = schema.component<Body>("body")
                                        .quantized({"x", "y"}, &Body::at, {0, 100, 0.01})
                                        .boolean("walks", &Body::walks)
                                        .text("name", &Body::name);
    purview::Component<Cloak> cloak =
        schema.component<Cloak>("cloak").boolean("is_on", &Cloak::is_on);
    purview::FlagId cloaked = schema.flag("cloaked", cloak.id, "is_on");
    purview::KindId player = schema.kind("player", {body.id, cloak.id});
    static constexpr purview::RpcDesc from_client{.direction = purview::RpcDirection::to_server,
                                                  .target = purview::RpcTarget::none};
    purview::Rpc<Line> say = schema.rpc<Line>("say", from_client).text("text", &Line::text);
    purview::Rpc<Line> said = schema.rpc<Line>("said", {}).text("text", &Line::text);
    purview::Rpc<Cloak> set_cloak =
        schema.rpc<Cloak>("set_cloak", from_client).boolean("is_on", &Cloak::is_on);
};

// A full text field has no zero at its end. Its bytes may come from a player: print only ASCII.
template <std::size_t size>
std::string text_of(const char (&field)[size]) {
    std::string text(field, strnlen(field, size));
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}
