#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Makes the demo world: worlds/vale/vale.json, a Tiled map.

2.4 km x 2.4 km in tiles of 8 m: meadows, woods, two lakes and a river with fords; herds, patrols of
eight teams, wagons, trees and things to find. Same script, same file, on every machine: only whole
numbers and one hash decide. Usage: make_vale.py [OUT.json]
"""
import json
import os
import sys

SIZE = 300          # tiles on a side
TILE_PX = 16        # pixels of a tile in the file; Tiled needs some number
GRASS, MEADOW, WOOD, WATER, ROAD = 1, 2, 3, 4, 5


def mix(z):
    """splitmix64: the one source of chance."""
    mask = (1 << 64) - 1
    z = (z + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


class Chance:
    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = mix(self.state)
        return self.state % bound


def noise(x, y, cell, seed):
    """Value noise, 0..1023, linear between lattice points."""
    gx, fx = divmod(x, cell)
    gy, fy = divmod(y, cell)
    corner = [mix(seed * 1000003 + (gx + i) * 10007 + gy + j) & 1023 for j in (0, 1) for i in (0, 1)]
    top = corner[0] * (cell - fx) + corner[1] * fx
    bottom = corner[2] * (cell - fx) + corner[3] * fx
    return (top * (cell - fy) + bottom * fy) // (cell * cell)


def river_x(y):
    return 150 + (noise(0, y, 60, 5) - 512) // 12 + (noise(7, y, 23, 6) - 512) // 60


def tile_at(x, y):
    for lake_x, lake_y, radius in ((70, 80, 18), (225, 210, 24)):
        wobble = (noise(x, y, 12, 9) - 512) // 100
        if (x - lake_x) ** 2 + (y - lake_y) ** 2 < (radius + wobble) ** 2:
            return WATER
    ford = y % 75 in (36, 37, 38)
    if abs(x - river_x(y)) <= 2:
        return ROAD if ford else WATER
    if y % 75 == 37:
        return ROAD
    if noise(x, y, 30, 1) + noise(x, y, 9, 2) // 3 > 800:
        return WOOD
    return MEADOW if noise(x, y, 18, 3) > 560 else GRASS


def main():
    out_path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "vale.json")
    tiles = [tile_at(x, y) for y in range(SIZE) for x in range(SIZE)]
    chance = Chance(20)
    next_id = [1]

    def area(kind, x, y, width, height, number, **properties):
        item = {"id": next_id[0], "name": "", "type": kind, "x": x * TILE_PX, "y": y * TILE_PX,
                "width": width * TILE_PX, "height": height * TILE_PX, "rotation": 0, "visible": True}
        next_id[0] += 1
        properties["nb"] = number
        item["properties"] = [{"name": name, "type": "int", "value": value} for name, value in sorted(properties.items())]
        return item

    woods = [i for i, t in enumerate(tiles) if t == WOOD]
    open_land = [i for i, t in enumerate(tiles) if t in (GRASS, MEADOW)]

    def place(candidates, width, height):
        index = candidates[chance.below(len(candidates))]
        return min(index % SIZE, SIZE - width - 1), min(index // SIZE, SIZE - height - 1)

    roaming = []
    for _ in range(400):                                    # trees: 25 to a thicket of 48 m
        x, y = place(woods, 6, 6)
        roaming.append(area("tree", x, y, 6, 6, 25))
    for _ in range(100):                                    # things to find
        x, y = place(open_land, 10, 10)
        roaming.append(area("item", x, y, 10, 10, 20))
    for kind, herds, heads in (("sheep", 160, 40), ("deer", 150, 24)):
        for _ in range(herds):
            x, y = place(open_land, 20, 20)
            roaming.append(area(kind, x, y, 20, 20, heads))
    for team in range(1, 9):                                # six patrols of fifteen for each team
        for _ in range(6):
            x, y = place(open_land, 24, 16)
            roaming.append(area("patrol", x, y, 24, 16, 15, team=team))
    for _ in range(60):
        x, y = place(open_land, 30, 12)
        roaming.append(area("wagon", x, y, 30, 12, 1))
    starts = []
    inland = [i for i in open_land if 30 <= i % SIZE < SIZE - 30 and 30 <= i // SIZE < SIZE - 30]
    for _ in range(40):
        x, y = place(inland, 8, 8)
        item = area("start", x, y, 8, 8, 0)
        starts.append(item)

    layer = {"visible": True, "opacity": 1, "x": 0, "y": 0}
    world = {
        "type": "map", "version": "1.10", "orientation": "orthogonal", "renderorder": "right-down",
        "infinite": False, "width": SIZE, "height": SIZE, "tilewidth": TILE_PX, "tileheight": TILE_PX,
        "layers": [
            dict(layer, id=1, name="ground", type="tilelayer", width=SIZE, height=SIZE, data=tiles),
            dict(layer, id=2, name="roaming", type="objectgroup", draworder="topdown", objects=roaming),
            dict(layer, id=3, name="starts", type="objectgroup", draworder="topdown", objects=starts),
        ],
        "tilesets": [{
            "firstgid": 1, "name": "ground", "tilecount": 5, "columns": 5, "tilewidth": TILE_PX,
            "tileheight": TILE_PX, "image": "", "imagewidth": 5 * TILE_PX, "imageheight": TILE_PX,
            "tiles": [{"id": WATER - 1, "properties": [{"name": "blocks", "type": "bool", "value": True}]}],
        }],
        "nextlayerid": 4, "nextobjectid": next_id[0],
    }
    with open(out_path, "w", encoding="ascii") as out:
        json.dump(world, out, separators=(",", ":"))
        out.write("\n")


main()
