"""Nearest neighbour search in two ways: exact by brute force, and by walking a graph.

Nearest neighbour search is the task of finding the stored vectors that lie closest to a given one.
The exact way looks at every vector. The other way follows links between neighbours and looks at a
few hundred; it may miss some, and `recall` says how many it finds.
"""

import heapq
import random


def squared_distance(a, b):
    """The squared Euclidean distance. Its order is that of the distance, without the root."""
    return sum((x - y) ** 2 for x, y in zip(a, b))


class BruteForce:
    """Exact search: compares the query with every vector. The yardstick for everything else."""

    def __init__(self, vectors):
        self.vectors = vectors

    def search(self, query, k):
        """The `k` nearest as (distance, number), nearest first. Cost: one distance a vector."""
        scored = ((squared_distance(query, v), i) for i, v in enumerate(self.vectors))
        return heapq.nsmallest(k, scored)


class SmallWorld:
    """A graph in which each vector is linked to some of its neighbours: one layer of HNSW.

    HNSW (hierarchical navigable small world, Malkov and Yashunin) stacks several such layers, each
    sparser than the one below. The upper layers take long steps, the lowest one finds the answer.
    """

    def __init__(self, links_max=8, width=32):
        self.links_max = links_max
        self.width = width
        self.vectors = []
        self.links = []

    def add(self, vector):
        """Inserts a vector: searches for its neighbours, then links both ways.

        A vector that now has too many links keeps the nearest only. Real implementations prefer
        neighbours in different directions, so that clusters stay connected.
        """
        number = len(self.vectors)
        nearest = self.search(vector, self.links_max) if self.vectors else []
        self.vectors.append(vector)
        self.links.append({other for _, other in nearest})
        for _, other in nearest:
            self.links[other].add(number)
            self._prune(other)

    def _prune(self, number):
        """Drops the farthest links beyond twice `links_max`."""
        def distance(other):
            return squared_distance(self.vectors[number], self.vectors[other])

        self.links[number] = set(sorted(self.links[number], key=distance)[: 2 * self.links_max])

    def search(self, query, k, width=None):
        """Best-first walk from vector 0; the `k` nearest found, as (distance, number).

        A walk that only ever steps to a closer neighbour gets stuck in a local minimum: a vector
        whose links all lead away from the query although a nearer one exists elsewhere. The remedy
        is a beam. The `width` best vectors so far are kept, each of them is expanded in turn, and
        the walk ends when the closest unexpanded one is farther away than the worst that is kept.
        A wider beam costs more distances and finds more; HNSW calls the width `ef`.
        """
        width = max(k, width or self.width)
        start = squared_distance(query, self.vectors[0])
        seen, frontier, best = {0}, [(start, 0)], [(-start, 0)]
        while frontier:
            distance, number = heapq.heappop(frontier)
            if len(best) == width and distance > -best[0][0]:
                break
            for other in sorted(self.links[number] - seen):
                seen.add(other)
                found = squared_distance(query, self.vectors[other])
                if len(best) < width or found < -best[0][0]:
                    heapq.heappush(frontier, (found, other))
                    heapq.heappush(best, (-found, other))
                    if len(best) > width:
                        heapq.heappop(best)
        return sorted((-negative, number) for negative, number in best)[:k]


def recall(found, exact):
    """The share of the exact neighbours that were found, in 0..1."""
    return len({n for _, n in found} & {n for _, n in exact}) / len(exact)


if __name__ == "__main__":
    rng = random.Random(7)
    points = [[rng.gauss(0, 1) for _ in range(8)] for _ in range(1000)]
    exact, graph = BruteForce(points), SmallWorld()
    for point in points:
        graph.add(point)
    queries = [[rng.gauss(0, 1) for _ in range(8)] for _ in range(50)]
    for width in (10, 20, 40, 80):
        shares = [recall(graph.search(q, 10, width), exact.search(q, 10)) for q in queries]
        print(f"width {width:3}: recall@10 {sum(shares) / len(shares):.3f}")
