"""A test of an operator in Python: for each ConfigMap with the label greet it keeps a Deployment of its name."""

import unittest

from kubernetes import client, config, watch

import stagecraft


def reconcile(apps, settings):
    """Bring the Deployment in line with the ConfigMap."""
    labels = {"app": settings.metadata.name}
    wanted = {
        "metadata": {"name": settings.metadata.name},
        "spec": {
            "replicas": int(settings.data["replicas"]),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}},
        },
    }
    try:
        apps.create_namespaced_deployment("default", wanted)
    except client.exceptions.ApiException as error:
        if error.status != 409:
            raise
        apps.patch_namespaced_deployment(settings.metadata.name, "default", wanted)


class TestOperator(unittest.TestCase):
    def test_deployment_follows(self):
        # A minute of the cluster passes in a second.
        with stagecraft.cluster("--speed", "60") as config_file:
            config.load_kube_config(config_file)
            core, apps = client.CoreV1Api(), client.AppsV1Api()
            core.create_namespaced_config_map(
                "default", {"metadata": {"name": "web", "labels": {"greet": "yes"}}, "data": {"replicas": "2"}})
            for event in watch.Watch().stream(core.list_namespaced_config_map, "default", label_selector="greet", timeout_seconds=30):
                reconcile(apps, event["object"])
                break
            for event in watch.Watch().stream(apps.list_namespaced_deployment, "default", timeout_seconds=30):
                if event["object"].status.ready_replicas == 2:
                    return
            self.fail("the Deployment was not ready within half a minute")

    def test_serve_says_what_is_wrong(self):
        with self.assertRaisesRegex(stagecraft.ServeError, "--speed 0.0: want more|--speed 0: want more"):
            with stagecraft.cluster("--speed", "0"):
                pass


if __name__ == "__main__":
    unittest.main()
