# A test of an operator in Ruby: for each ConfigMap with the label greet it keeps a Deployment of its name.
require "kubeclient"
require "minitest/autorun"
require_relative "stagecraft"

class Operator
  def initialize(apps)
    @apps = apps
  end

  # Brings the Deployment in line with the ConfigMap.
  def reconcile(settings)
    labels = { app: settings.metadata.name }
    @apps.create_deployment(Kubeclient::Resource.new(
      metadata: { name: settings.metadata.name, namespace: "default" },
      spec: { replicas: settings.data.replicas.to_i, selector: { matchLabels: labels },
              template: { metadata: { labels: labels }, spec: { containers: [{ name: "main", image: "nginx" }] } } }
    ))
  rescue Kubeclient::HttpError => e
    raise unless e.error_code == 409
  end
end

class TestOperator < Minitest::Test
  def client(file, path, version)
    context = Kubeclient::Config.read(file).context
    Kubeclient::Client.new(context.api_endpoint + path, version, ssl_options: context.ssl_options, auth_options: context.auth_options)
  end

  def test_deployment_follows
    Stagecraft.cluster("--speed", "60") do |file| # a minute of the cluster passes in a second
      core, apps = client(file, "/api", "v1"), client(file, "/apis/apps", "v1")
      settings = core.create_config_map(Kubeclient::Resource.new(
        metadata: { name: "web", namespace: "default", labels: { greet: "yes" } }, data: { replicas: "2" }
      ))
      Operator.new(apps).reconcile(settings)
      apps.watch_deployments(namespace: "default") { |event| break if event.object.status&.readyReplicas == 2 }
      assert_equal 2, apps.get_deployment("web", "default").status.readyReplicas
    end
  end

  def test_serve_says_what_is_wrong
    error = assert_raises(Stagecraft::ServeError) { Stagecraft.cluster("--speed", "0") { flunk } }
    assert_match "--speed 0: want more", error.message
  end
end
