"""Sparse matrices of floats, with the names of scipy.sparse: csr_array, csc_array, coo_array and bsr_array.

    A = wt.sparse.csr_array(wt.array([[0.0, 2.0], [1.0, 0.0]]))
    print(A @ wt.ones(2), A.T.toarray())

What they hold are plain tensors: `data` can be a variable, or what a function of one gives, and gradients flow to it. The functions below them
(csr_matmul() and others) take these tensors by themselves.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ._array import array, asarray
from ._core import Tensor
from ._core import functions as F
from ._types import result_type

__all__ = ["bsr_array", "coo_array", "csc_array", "csr_array", "eye_array", "hstack", "issparse", "vstack"]


def _floats(x: Any) -> Tensor:
    made = x if isinstance(x, Tensor) else array(x)
    return made if made.dtype.is_floating else F.cast(made, "float32")


def _whole(x: Any) -> Tensor:
    return F.cast(x if isinstance(x, Tensor) else array(x), "int32")


def _shape(given: Sequence[int] | None, rows: int, columns: Callable[[], int]) -> tuple[int, int]:
    if given is None:
        return rows, columns()
    if len(given) != 2:
        raise ValueError(f"A sparse matrix has two dimensions; shape is {tuple(given)}.")
    return int(given[0]), int(given[1])


def _check_places(given: Any, extent: int) -> None:
    """Refuses places outside of the matrix where they are on the host; those on the device are not waited for, and are left out."""
    places = np.asarray(given) if not isinstance(given, Tensor) else np.zeros(0)
    if places.size and (places.min() < 0 or places.max() >= extent):
        raise ValueError(f"A sparse matrix has no places {places.min()} to {places.max()} along an axis of {extent}.")


def _past(indices: Tensor) -> int:
    return int(indices.max()) + 1 if indices.size else 0


class _Sparse:
    """What all of them have. Elements are those that are stored, zeros or not."""

    data: Tensor
    shape: tuple[int, int]
    ndim = 2
    __array_ufunc__ = None  # numpy and tensors leave `array * sparse` to the sparse matrix
    __array_priority__ = 2000

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return self.data.size

    def with_data(self, data: Any) -> Self:
        """Other elements at the same places: A.with_data(wt.sqrt(A.data))."""
        data = _floats(data)
        if data.shape != self.data.shape:
            raise ValueError(f"{type(self).__name__}.with_data(): the elements have shape {self.data.shape}; those given have {data.shape}.")
        made = object.__new__(type(self))
        vars(made).update(vars(self), data=data)
        return made

    def tocsr(self) -> csr_array:
        raise NotImplementedError

    def tocsc(self) -> csc_array:
        """In compressed columns."""
        return csc_array._of(self.tocsr().T)

    def tocoo(self) -> coo_array:
        """Elements with their rows and columns."""
        a = self.tocsr()
        return coo_array((a.data, (F.csr_rows(a.indptr, a.nnz), a.indices)), a.shape)

    def tobsr(self, blocksize: int = 16) -> bsr_array:
        """In square blocks; waits, since their number decides over the shape."""
        a = self.tocsr()
        return bsr_array._of(F.bsr_from_csr(a.data, a.indptr, a.indices, blocksize), a.shape)

    def toarray(self) -> Tensor:
        """The dense matrix; elements at one place are added up."""
        a = self.tocsr()
        return F.csr_to_dense(a.data, a.indptr, a.indices, a.shape[1])

    todense = toarray

    def astype(self, dtype: Any) -> Self:
        return self.with_data(F.cast(self.data, dtype))

    def sum(self, axis: int | None = None) -> Tensor:
        """Of all elements, of each row (axis=1) or of each column (axis=0)."""
        if axis is None:
            return F.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"{type(self).__name__}.sum(): axis is {axis}; a matrix has the axes 0 and 1.")
        a = self.tocsr() if axis in (1, -1) else self.tocsr().T
        return F.csr_row_sums(a.data, a.indptr)

    def mean(self, axis: int | None = None) -> Tensor:
        """sum() over the number of elements, those that are not stored included."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    def diagonal(self) -> Tensor:
        """The elements whose row is their column; elements at one place are added up."""
        a = self.tocoo()
        return F.segment_sum(F.where(a.row == a.col, a.data, 0), a.row, min(a.shape))

    def power(self, n: float) -> Self:
        """Each stored element to a power."""
        return self.with_data(self.data**n)

    __pow__ = power

    @property
    def T(self) -> Any:
        raise NotImplementedError

    def transpose(self) -> Any:
        return self.T

    def __matmul__(self, x: Any) -> Any:
        """With a dense matrix or vector a dense one, with a sparse matrix a sparse one (which waits)."""
        if isinstance(x, _Sparse):
            return _product(self.tocsr(), x.tocsr())
        a = self.tocsr()
        return F.csr_matmul(a.data, a.indptr, a.indices, self._factor(x, 0, 1))

    def dot(self, x: Any) -> Any:
        """self @ x."""
        return self @ x

    def _factor(self, x: Any, axis: int, of: int) -> Tensor:
        """What is multiplied with this matrix: its axis is as long as the axis `of` here."""
        x = asarray(x)
        if x.ndim not in (1, 2) or x.shape[axis] != self.shape[of]:
            raise ValueError(f"A sparse matrix of shape {self.shape} is not multiplied with {'one' if of else 'a matrix on its left'} of shape {x.shape}.")
        return self._promoted(x)

    def _promoted(self, x: Any) -> Tensor:
        """What is dense in the type of a result with it: functions of both give that of the dense one."""
        return F.cast(asarray(x), result_type(self.data, x))

    def __rmatmul__(self, x: Any) -> Tensor:
        x = self._factor(x, -1, 0)
        a = self.tocsr().T
        made = F.csr_matmul(a.data, a.indptr, a.indices, x.T if x.ndim == 2 else x)
        return made.T if x.ndim == 2 else made

    def __neg__(self) -> Self:
        return self.with_data(-self.data)

    def __abs__(self) -> Self:
        return self.with_data(F.abs(self.data))

    def __mul__(self, x: Any) -> Any:
        """By a number, or element by element with a matrix that broadcasts: the same places. With a sparse matrix those that both have (which
        waits)."""
        if isinstance(x, _Sparse):
            return _multiplied(self.tocsr(), x.tocsr())
        if asarray(x).ndim == 0:
            return self.with_data(self.data * x)
        a = self.tocoo()
        return a.with_data(a.data * F.broadcast_to(asarray(x), a.shape)[a.row, a.col]).tocsr()

    __rmul__ = multiply = __mul__

    def __truediv__(self, x: Any) -> Any:
        return self * (1 / x)

    def __add__(self, x: Any) -> Any:
        """With another sparse matrix a sparse one, with a dense one a dense one."""
        if not isinstance(x, _Sparse):
            a = self.tocsr()
            return F.csr_add(a.data, a.indptr, a.indices, F.broadcast_to(self._promoted(x), a.shape))
        if x.shape != self.shape:
            raise ValueError(f"Sparse matrices of shapes {self.shape} and {x.shape} cannot be added.")
        one: coo_array = self.tocoo()
        other: coo_array = x.tocoo()
        kind = result_type(one.data, other.data)
        parts = [F.concat([p, q], 0) for p, q in ((F.cast(one.data, kind), F.cast(other.data, kind)), (one.row, other.row), (one.col, other.col))]
        return coo_array((parts[0], (parts[1], parts[2])), self.shape).tocsr().sum_duplicates()

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        return self + -x

    def __rsub__(self, x: Any) -> Any:
        return -self + x

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.dtype.name}, {self.nnz} stored elements, shape {self.shape}>"


class csr_array(_Sparse):
    """Compressed rows: `data` [count], their columns `indices`, and where the elements of each row begin, `indptr` [rows + 1]. Made of a dense
    matrix (which waits), of (data, indices, indptr), of (data, (row, col)), or of another sparse matrix, also one of scipy."""

    def __init__(self, given: Any, shape: Sequence[int] | None = None) -> None:
        if isinstance(given, _Sparse):
            vars(self).update(vars(given.tocsr()))
        elif not isinstance(given, Tensor) and hasattr(given, "tocsr"):  # of scipy
            rows = given.tocsr()
            vars(self).update(vars(csr_array((rows.data, rows.indices, rows.indptr), rows.shape)))
        elif isinstance(given, tuple) and len(given) == 2:
            vars(self).update(vars(coo_array(given, shape).tocsr()))
        elif isinstance(given, tuple) and len(given) == 3:
            self.data, self.indices, self.indptr = _floats(given[0]), _whole(given[1]), _whole(given[2])
            self.shape = _shape(shape, self.indptr.size - 1, lambda: _past(self.indices))
            if self.indptr.size != self.shape[0] + 1 or self.indices.size != self.data.size:
                raise ValueError(f"csr_array(): a matrix of shape {self.shape} needs as many indices as elements and {self.shape[0] + 1} starts; "
                                 f"there are {self.data.size}, {self.indices.size} and {self.indptr.size}.")
            _check_places(given[1], self.shape[1])
        else:
            x = _floats(given)
            self.data, self.indptr, self.indices = F.csr_from_dense(x)
            self.shape = _shape(None, x.shape[0], lambda: x.shape[1])

    @classmethod
    def _of(cls, parts: tuple[Tensor, Tensor, Tensor], shape: tuple[int, int]) -> csr_array:
        """From values, starts and indices, as functions give them."""
        made = object.__new__(cls)
        made.data, made.indptr, made.indices = parts
        made.shape = shape
        return made

    def tocsr(self) -> csr_array:
        return self

    @property
    def T(self) -> csr_array:
        """In compressed rows as well."""
        return csr_array._of(F.csr_transpose(self.data, self.indptr, self.indices, self.shape[1]), self.shape[::-1])

    def sum_duplicates(self) -> csr_array:
        """Elements at one place become their sum; waits."""
        return csr_array._of(F.csr_coalesce(self.data, self.indptr, self.indices), self.shape)

    def softmax(self) -> csr_array:
        """exp of the elements over its sum in each row: the softmax of what is not masked."""
        return self.with_data(F.csr_softmax(self.data, self.indptr))

    def sampled_matmul(self, a: Any, b: Any) -> csr_array:
        """The elements of a @ b.T at the places of this matrix, which is not multiplied with them."""
        return self.with_data(F.csr_sampled_matmul(self.indptr, self.indices, asarray(a), asarray(b)))


class csc_array(_Sparse):
    """Compressed columns: `data`, their rows `indices`, and where the elements of each column begin, `indptr` [columns + 1]. Made as csr_array is."""

    def __init__(self, given: Any, shape: Sequence[int] | None = None) -> None:
        if isinstance(given, tuple) and len(given) == 3:
            turned = csr_array(given, None if shape is None else tuple(shape)[::-1])
        else:
            turned = csr_array(given, shape).T
        vars(self).update(vars(csc_array._of(turned)))

    data: Tensor
    indices: Tensor
    indptr: Tensor

    @classmethod
    def _of(cls, turned: csr_array) -> csc_array:
        """From the compressed rows of the transpose, which are the same numbers."""
        made = object.__new__(cls)
        vars(made).update(vars(turned), shape=turned.shape[::-1])
        return made

    def _turned(self) -> csr_array:
        return csr_array._of((self.data, self.indptr, self.indices), self.shape[::-1])

    def tocsc(self) -> csc_array:
        return self

    def tocsr(self) -> csr_array:
        return self._turned().T

    @property
    def T(self) -> csr_array:
        """The same numbers as compressed rows."""
        return self._turned()

    def __rmatmul__(self, x: Any) -> Tensor:
        made: Tensor = (self._turned() @ self._factor(x, -1, 0).T).T
        return made


class coo_array(_Sparse):
    """Elements in any order: `data`, and their rows and columns, `row` and `col`. Made of (data, (row, col)), or as csr_array is."""

    def __init__(self, given: Any, shape: Sequence[int] | None = None) -> None:
        if isinstance(given, tuple) and len(given) == 2:
            self.data, (self.row, self.col) = _floats(given[0]), (_whole(places) for places in given[1])
            self.shape = _shape(shape, 0, lambda: 0) if shape is not None else (_past(self.row), _past(self.col))
            if self.row.shape != self.data.shape or self.col.shape != self.data.shape or self.data.ndim != 1:
                raise ValueError(f"coo_array() needs elements, rows and columns of one length; they have the shapes {self.data.shape}, "
                                 f"{self.row.shape} and {self.col.shape}.")
            _check_places(given[1][0], self.shape[0])
            _check_places(given[1][1], self.shape[1])
        else:
            vars(self).update(vars(csr_array(given, shape).tocoo()))

    def tocoo(self) -> coo_array:
        return self

    def tocsr(self) -> csr_array:
        return csr_array._of(F.csr_from_coo(self.data, self.row, self.col, self.shape[0]), self.shape)

    @property
    def T(self) -> coo_array:
        return coo_array((self.data, (self.col, self.row)), self.shape[::-1])


class bsr_array(_Sparse):
    """Square blocks in compressed rows of blocks: `data` [count, block, block], `indices` and `indptr` of blocks. Sizes of the matrix are multiples of
    `blocksize`; 16 and 32 suit matrix units. Made of a dense matrix or another sparse one (both wait), or of (data, indices, indptr)."""

    def __init__(self, given: Any, shape: Sequence[int] | None = None, blocksize: int = 16) -> None:
        if isinstance(given, _Sparse) or hasattr(given, "tocsr"):
            vars(self).update(vars(csr_array(given).tobsr(blocksize)))
        elif isinstance(given, tuple) and len(given) == 3:
            self.data, self.indices, self.indptr = _floats(given[0]), _whole(given[1]), _whole(given[2])
            if self.data.ndim != 3 or self.data.shape[1] != self.data.shape[2]:
                raise ValueError(f"bsr_array() needs square blocks [count, block, block]; they have shape {self.data.shape}.")
            side = self.data.shape[1]
            self.shape = _shape(shape, (self.indptr.size - 1) * side, lambda: _past(self.indices) * side)
        else:
            x = _floats(given)
            self.data, self.indptr, self.indices = F.bsr_from_dense(x, blocksize)
            self.shape = _shape(None, x.shape[0], lambda: x.shape[1])

    @classmethod
    def _of(cls, parts: tuple[Tensor, Tensor, Tensor], shape: tuple[int, int]) -> bsr_array:
        made = object.__new__(cls)
        made.data, made.indptr, made.indices = parts
        made.shape = shape
        return made

    @property
    def blocksize(self) -> int:
        return self.data.shape[1]

    def tobsr(self, blocksize: int | None = None) -> bsr_array:
        return self if blocksize in (None, self.blocksize) else self.tocsr().tobsr(blocksize or 16)

    def tocsr(self) -> csr_array:
        return csr_array._of(F.bsr_to_csr(self.data, self.indptr, self.indices), self.shape)

    def toarray(self) -> Tensor:
        return F.bsr_to_dense(self.data, self.indptr, self.indices, self.shape[1])

    todense = toarray

    @property
    def T(self) -> bsr_array:
        return bsr_array._of(F.bsr_transpose(self.data, self.indptr, self.indices, self.shape[1]), self.shape[::-1])

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, _Sparse):
            return super().__matmul__(x)
        return F.bsr_matmul(self.data, self.indptr, self.indices, self._factor(x, 0, 1))

    def sampled_matmul(self, a: Any, b: Any) -> bsr_array:
        """The blocks of a @ b.T at the places of this matrix."""
        return self.with_data(F.bsr_sampled_matmul(self.indptr, self.indices, asarray(a), asarray(b), self.blocksize))


def _product(a: csr_array, b: csr_array) -> csr_array:
    """Every element of a with each of the row of b that it meets, and then what lies at one place added up."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"Sparse matrices of shapes {a.shape} and {b.shape} cannot be multiplied.")
    shape = (a.shape[0], b.shape[1])
    starts = F.take(b.indptr, a.indices, 0)
    counts = F.take(b.indptr, a.indices + 1, 0) - starts
    ends = F.cumsum(counts, 0)
    pairs = int(ends[-1]) if a.nnz else 0
    if pairs == 0:
        return csr_array._of((F.zeros(0, result_type(a.data, b.data)), F.zeros(shape[0] + 1, "int32"), F.zeros(0, "int32")), shape)
    number = F.arange(pairs, 0, 1, "int32")
    of_a = F.searchsorted(ends, number, True)
    of_b = number - F.take(ends - counts, of_a, 0) + F.take(starts, of_a, 0)
    data = F.take(a.data, of_a, 0) * F.take(b.data, of_b, 0)
    rows = F.take(F.csr_rows(a.indptr, a.nnz), of_a, 0)
    return coo_array((data, (rows, F.take(b.indices, of_b, 0))), shape).tocsr().sum_duplicates()


def _multiplied(a: csr_array, b: csr_array) -> csr_array:
    """Each beside zeros at the places of the other, added up, so that both have the same places; of these, those of both are kept."""
    if a.shape != b.shape:
        raise ValueError(f"Sparse matrices of shapes {a.shape} and {b.shape} cannot be multiplied element by element.")
    kind = result_type(a.data, b.data)
    a, b = (m.astype(kind).sum_duplicates() for m in (a, b))
    places = [F.concat([p, q], 0) for p, q in ((F.csr_rows(a.indptr, a.nnz), F.csr_rows(b.indptr, b.nnz)), (a.indices, b.indices))]

    def at_all(of_a: Tensor, of_b: Tensor) -> csr_array:
        return coo_array((F.concat([of_a, of_b], 0), (places[0], places[1])), a.shape).tocsr().sum_duplicates()

    counts = at_all(F.ones_like(a.data), F.ones_like(b.data))
    both = array(np.flatnonzero(counts.data.numpy() > 1).astype(np.int32))
    found = at_all(a.data, F.zeros_like(b.data)), at_all(F.zeros_like(a.data), b.data)
    data = F.take(found[0].data, both, 0) * F.take(found[1].data, both, 0)
    return coo_array((data, (F.take(F.csr_rows(counts.indptr, counts.nnz), both, 0), F.take(counts.indices, both, 0))), a.shape).tocsr()


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = "float32") -> csr_array:
    """The matrix [m, n] with ones on a diagonal, k places to the right of the main one, in compressed rows."""
    shape = (m, m if n is None else n)
    rows = np.arange(max(0, -k), max(0, -k, min(shape[0], shape[1] - k)), dtype=np.int32)
    return coo_array((F.ones(rows.size, dtype), (rows, rows + np.int32(k))), shape).tocsr()


def _joined(blocks: Sequence[Any], axis: int) -> csr_array:
    parts = [b.tocoo() if isinstance(b, _Sparse) else coo_array(b) for b in blocks]
    if not parts or any(p.shape[1 - axis] != parts[0].shape[1 - axis] for p in parts):
        raise ValueError(f"{'hstack' if axis else 'vstack'}() needs matrices with as many {'rows' if axis else 'columns'} each; it was given the shapes "
                         f"{[p.shape for p in parts]}.")
    kind = result_type(*(p.data for p in parts))
    ends = np.cumsum([p.shape[axis] for p in parts]).tolist()
    starts = [0, *ends[:-1]]
    places = [F.concat([(p.row, p.col)[d] + (start if d == axis else 0) for p, start in zip(parts, starts, strict=True)], 0) for d in (0, 1)]
    other = parts[0].shape[1 - axis]
    shape = (other, ends[-1]) if axis else (ends[-1], other)
    return coo_array((F.concat([F.cast(p.data, kind) for p in parts], 0), (places[0], places[1])), shape).tocsr()


def vstack(blocks: Sequence[Any]) -> csr_array:
    """Matrices below each other."""
    return _joined(blocks, 0)


def hstack(blocks: Sequence[Any]) -> csr_array:
    """Matrices beside each other."""
    return _joined(blocks, 1)


def issparse(x: Any) -> bool:
    """Whether x is a sparse matrix."""
    return isinstance(x, _Sparse)
