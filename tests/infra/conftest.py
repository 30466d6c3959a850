"""Before any test module imports CDK: the folder ``infra`` in the path, and Node.js there, which CDK runs on."""

from infra import tools

tools.node()
