"""The CDK app: ``cdk.json`` runs it. One stack, no AWS call."""

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks
from stack import ParleyStack

app = cdk.App()
ParleyStack(app, "ParleyStack")
cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
app.synth()
