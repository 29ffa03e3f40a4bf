"""Second order from class sums: products with the Hessian of :mod:`.gaussian_sums`, and the Hessian itself.

With r_i = Z'(x_i - mean) / sigma for a direction Z, and D_a of the basis,

    dT_g = sum_i E_ig sum_a r_ia (D_a - u_ia) phi(u_i),    dV = Theta dT M,
    d(dF/du_i) = 2 sum_g E_ig (dV_g' dphi/du_i + sum_b r_ib d^2(V_g' phi)/du_i du_ib),
    d^2 phi/du_a du_b = (D_a - u_a) (D_b - u_b) phi - [a = b] phi.

On all directions B_u e_a' at once the first term is a quadratic form of dT, from the sums of phi with the columns of
XB and their products with those of U, and the second a weighted scatter matrix of XB for each pair a <= b.

Source: our own derivation.
"""

from __future__ import annotations

import numpy as np

from kdrbench.evaluation.bases import pairs_of
from kdrbench.evaluation.gaussian_sums import GaussianSums
from kdrbench.kernels.family import FloatArray
from kdrbench.problems.groups import Members
from kdrbench.samples import Sums


class ClassSumsProblem(GaussianSums):
    """All oracles of a :class:`TraceObjective` with a Gaussian kernel, from class sums."""

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        return np.stack([self._along(projection, direction) for direction in directions])

    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian at W applied to Z."""
        point = self._at(projection)
        basis, q = point.basis, projection.shape[1]
        both = np.hstack([point.columns, direction @ point.turn / self._sigma])

        def changes(total: Sums, samples: FloatArray, members: Members) -> None:
            here, moved = samples[:q], samples[q:]
            columns = np.column_stack([moved.T, np.einsum("ac,ac->c", moved, here)])
            members.add(total[0], basis.features(here), columns)

        shape = (self._groups.number, basis.size, q + 1)
        (sums,) = self._over().narrow(both, basis.size, [shape], changes)
        change = sum(basis.shifted(sums[:, :, a], a) for a in range(q)) - sums[:, :, q]
        own = basis.tables(point.coefficients, 2)
        turned = basis.tables(self._groups.theta @ basis.inverted(change), 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            result: FloatArray
            here, moved = samples[:q], samples[q:]
            features = basis.features(here)
            held, found = (members.mixed(basis.mixed, features, tables) for tables in (own, turned))
            along, once = np.einsum("ac,ac->c", here, moved), held[1 : q + 1]
            result = found[1:] - here * found[0] + (here * along - moved) * held[0] - once * along
            result -= here * np.einsum("ac,ac->c", once, moved)
            for number, (a, b) in enumerate(pairs_of(q), q + 1):
                result[a] += held[number] * moved[b]
                if a != b:
                    result[b] += held[number] * moved[a]
            return result

        return self._turned_back(point, both, slopes)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        point = self._at(projection)
        functions, q, width = point.basis, projection.shape[1], basis.shape[1]
        own, pairs, number = functions.tables(point.coefficients, 2), pairs_of(q), self._groups.number
        moving = basis / self._sigma

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            features, moved = functions.features(samples), rows @ moving
            columns = [moved, *(moved * samples[a][:, None] for a in range(q))]
            members.add(total[0], features, np.hstack(columns))
            held = members.mixed(functions.mixed, features, own)
            for place, (a, b) in enumerate(pairs):
                weights = held[q + 1 + place] - samples[a] * held[1 + b] - samples[b] * held[1 + a]
                weights += (samples[a] * samples[b] - float(a == b)) * held[0]
                total[1][place] += (moved.T * weights) @ moved

        shapes = [(number, functions.size, width * (q + 1)), (len(pairs), width, width)]
        sums, form = self._over().with_rows(point.columns, shapes, added)
        parts = sums.reshape(number, functions.size, q + 1, width).transpose(2, 0, 3, 1)
        changes = [functions.shifted(parts[0], a) - parts[a + 1] for a in range(q)]
        result = self._quadratic(functions, np.concatenate(changes, axis=1)).reshape(q, width, q, width)
        for place, (a, b) in enumerate(pairs):
            result[a, :, b] += form[place]
            if a != b:
                result[b, :, a] += form[place]
        flat = np.einsum("aubv,ca,db->ucvd", result, point.turn, point.turn).reshape(width * q, -1)
        return np.asarray(flat + flat.T)
