"""Command line of the local cluster: `python -m deploy.cluster --help`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from deploy.cluster import builds, components, files
from deploy.cluster.down import down
from deploy.cluster.errors import ClusterError
from deploy.cluster.status import render, status
from deploy.cluster.topology import Cluster, cluster
from deploy.cluster.up import settle, up
from deploy.cluster.wish import read_wish, write_wish


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.cluster",
        description="A real single-node Kubernetes on this machine, for development and tests. "
        "SWITCHYARD_CLUSTER=switchyard-1 (to -9) names a second one beside the first.",
        epilog="example: python -m deploy.cluster restart kube-apiserver",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="bring it up, or repair it; quick if it is up")
    commands.add_parser("down", help="take it away and leave nothing (caches stay)")
    show = commands.add_parser("status", help="what is running; exit 1 if not all is well")
    show.add_argument("--output", choices=("text", "json"), default="text")
    again = commands.add_parser("restart", help="restart one component and wait for Ready")
    again.add_argument("component", help="for example kube-apiserver")
    build = commands.add_parser("build", help="print the path of a binary, building it if needed")
    build.add_argument("name", choices=sorted(builds.BUILDS))
    return parser


def _restart(of: Cluster, name: str) -> None:
    write_wish(of, components.restarted(read_wish(of), name))
    settle(of)


def _status(of: Cluster, output: str) -> int:
    state = status(of)
    as_json = {**asdict(state), "healthy": state.healthy}
    print(json.dumps(as_json, indent=2) if output == "json" else render(state))
    return 0 if state.healthy else 1


def _act(arguments: argparse.Namespace, of: Cluster) -> int:
    match arguments.command:
        case "build":
            print(builds.ensure(arguments.name, of.cache))
        case "status":
            return _status(of, arguments.output)
        case "up":
            with files.alone(of.cache / f"{of.name}.lock"):
                up(of)
            print(render(status(of)))
        case "down":
            with files.alone(of.cache / f"{of.name}.lock"):
                down(of)
        case "restart":
            with files.alone(of.cache / f"{of.name}.lock"):
                _restart(of, arguments.component)
    return 0


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return _act(arguments, cluster())
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cluster: interrupted; the same command continues it", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
