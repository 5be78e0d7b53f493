"""Sees the listed packages' modules while they are imported, and hands their functions over."""

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from observability.probes.driver import Driver
from observability.probes.functions import Packages, living

_ADOPT = "__switchyard_adopt__"


def install(packages: Packages, driver: Driver) -> None:
    """From now on `driver` knows the functions of `packages`, also those there are already."""
    sys.meta_path.insert(0, _Finder(packages, driver))
    for function in living(packages):
        driver.adopt(function)


class _Finder:
    def __init__(self, packages: Packages, driver: Driver) -> None:
        self._packages = packages
        self._driver = driver

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._packages:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path, self._driver)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, driver: Driver) -> None:
        super().__init__(name, path)
        self._driver = driver

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[_ADOPT] = self._driver.adopt
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        if sys.version_info >= (3, 12):
            code = super().get_code(fullname)
        else:
            # Compiled anew each time: what is cached on disk is not for this process alone.
            tree = ast.parse(self.get_data(self.path))
            code = compile(_Adopting().visit(tree), self.path, "exec", dont_inherit=True)
        if code:
            self._driver.adopt_code(fullname, code)
        return code


class _Adopting(ast.NodeTransformer):
    """Gives every `def` an innermost decorator, which sees the bare function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._decorated(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._decorated(node)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        adopt = ast.Name(_ADOPT, ast.Load())
        node.decorator_list.append(ast.copy_location(adopt, node))
        return ast.fix_missing_locations(node)
