# A Kubernetes in memory for tests in Ruby: starts `stagecraft serve`, and stops it.
#
#   Stagecraft.cluster("--load", "crds/") { |file| Kubeclient::Config.read(file) }
#
# The program is that of the variable STAGECRAFT, or stagecraft of the PATH. It ends with this process: the pipe
# to its standard input closes. It needs no gem.
require "json"
require "open3"

module Stagecraft
  # serve has ended before it was ready. The message is what it said.
  class ServeError < StandardError; end

  # Serves a cluster, and yields the path of its kubeconfig. Flags are those of `stagecraft serve`.
  def self.cluster(*flags)
    program = ENV.fetch("STAGECRAFT", "stagecraft")
    stdin, stdout, stderr, process = Open3.popen3(program, "serve", "--until-stdin-closes", "--output", "json", *flags)
    line = stdout.gets # it is written when the server answers
    raise ServeError, stderr.read if line.nil?
    yield JSON.parse(line)["kubeconfig"]
  ensure
    stdin&.close
    process&.join(10)
    stdout&.close
    stderr&.close
  end
end
