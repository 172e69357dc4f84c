/**
 * For each alert a cluster in which it fires, what it then says, and one in which it does not, mostly by a hair. Series are in
 * promtool's notation, one value a minute; what is asked is how things stand after an hour.
 */

export interface AlertCase {
  readonly fires: Readonly<Record<string, string>>;
  /** Of the alert, besides its severity. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Its description, as people read it. */
  readonly says: string;
  readonly silent: Readonly<Record<string, string>>;
}

const always = (value: number): string => `${value}x120`;
/** Grows by so much a minute. */
const by = (step: number): string => `0+${step}x120`;

export const alertCases: Readonly<Record<string, AlertCase>> = {
  BerthAbsent: {
    fires: { up: always(0) },
    says: "No Berth was scraped for 5 minutes. Unless only the scrape is broken, no Pod with a claim is placed.",
    silent: { "berth_build_info{version='1'}": always(1) },
  },
  BerthNotReady: {
    fires: { "berth_ready{instance='a'}": always(0), "berth_ready{instance='b'}": always(0) },
    says: "No Berth was ready for 5 minutes, so Pods with claims are answered with an Error. /readyz says why.",
    silent: { "berth_ready{instance='a'}": always(0), "berth_ready{instance='b'}": always(1) },
  },
  BerthNotAsked: {
    fires: { berth_last_filter_age_seconds: "3000+60x120", "berth_claims{class='a',phase='pending'}": always(1) },
    says: "No filter call came for 1h 50m 0s, while claims are pending. kube-scheduler may not be configured to ask.",
    silent: { berth_last_filter_age_seconds: "3000+60x120", "berth_claims{class='a',phase='bound'}": always(1) },
  },
  BerthCallErrors: {
    fires: {
      "berth_call_errors_total{verb='filter',cause='behind'}": by(6),
      "berth_call_duration_seconds_count{verb='filter',outcome='feasible'}": by(60),
    },
    labels: { verb: "filter" },
    says: "10% of the filter calls of the last 10 minutes were answered with an Error.",
    silent: {
      "berth_call_errors_total{verb='filter',cause='behind'}": by(3),
      "berth_call_duration_seconds_count{verb='filter',outcome='feasible'}": by(60),
      "berth_call_errors_total{verb='bind',cause='bind'}": by(60),
      "berth_call_duration_seconds_count{verb='bind',outcome='error'}": by(60),
    },
  },
  BerthCallFaults: {
    fires: { "berth_call_faults_total{verb='filter'}": "0x50 1x60" },
    labels: { verb: "filter" },
    says: "A filter call was answered 500 in the last 15 minutes. This is a fault of Berth; its log has the stack.",
    silent: { "berth_call_faults_total{verb='filter'}": "0x40 1x60" },
  },
  BerthCallsRejected: {
    fires: { "berth_calls_rejected_total{verb='filter',cause='tooManyCalls'}": by(60) },
    labels: { verb: "filter", cause: "tooManyCalls" },
    says: "1.0 filter calls a second are answered 503: tooManyCalls.",
    silent: {
      "berth_calls_rejected_total{verb='filter',cause='tooManyCalls'}": by(6),
      "berth_calls_rejected_total{verb='filter',cause='callerGone'}": by(600),
    },
  },
  BerthCallsNearLimit: {
    fires: {
      "berth_calls_in_progress{instance='a',verb='filter'}": always(50),
      "berth_calls_in_progress{instance='a',verb='prioritize'}": always(5),
      "berth_limit{instance='a',limit='calls'}": always(64),
    },
    labels: { instance: "a" },
    says: "85.94% of limits.callsMax are taken. Beyond it calls are answered 503.",
    silent: {
      "berth_calls_in_progress{instance='a',verb='filter'}": always(50),
      "berth_calls_in_progress{instance='a',verb='bind'}": always(500),
      "berth_limit{instance='a',limit='calls'}": always(64),
    },
  },
  BerthFilterSlow: {
    fires: {
      "berth_call_duration_seconds_bucket{verb='filter',le='0.256'}": by(50),
      "berth_call_duration_seconds_bucket{verb='filter',le='1.024'}": by(50),
      "berth_call_duration_seconds_bucket{verb='filter',le='4.096'}": by(60),
      "berth_call_duration_seconds_bucket{verb='filter',le='+Inf'}": by(60),
    },
    labels: { verb: "filter" },
    says: "One filter call in a hundred takes longer than 3.912s. kube-scheduler gives up after httpTimeout, 5 s by default.",
    silent: {
      "berth_call_duration_seconds_bucket{verb='filter',le='0.256'}": by(50),
      "berth_call_duration_seconds_bucket{verb='filter',le='1.024'}": by(60),
      "berth_call_duration_seconds_bucket{verb='filter',le='+Inf'}": by(60),
      "berth_call_duration_seconds_bucket{verb='bind',le='1.024'}": by(0),
      "berth_call_duration_seconds_bucket{verb='bind',le='65.536'}": by(60),
      "berth_call_duration_seconds_bucket{verb='bind',le='+Inf'}": by(60),
    },
  },
  BerthEventLoopBlocked: {
    fires: {
      "nodejs_eventloop_lag_p99_seconds{job='berth',instance='a'}": always(0.5),
      "berth_build_info{job='berth',instance='a',version='1'}": always(1),
    },
    labels: { job: "berth", instance: "a" },
    says: "At a one turn in a hundred comes 500ms late. Berth lacks CPU, or is asked too much.",
    silent: {
      "nodejs_eventloop_lag_p99_seconds{job='berth',instance='a'}": always(0.25),
      "berth_build_info{job='berth',instance='a',version='1'}": always(1),
      "nodejs_eventloop_lag_p99_seconds{job='shop',instance='b'}": always(5),
    },
  },
  BerthBindsFailing: {
    fires: { "berth_binds_total{ending='timedOut'}": by(3), "berth_binds_total{ending='bound'}": by(7) },
    says: "30% of the binds of the last 15 minutes failed. berth_binds_total says how, by ending.",
    silent: {
      "berth_binds_total{ending='timedOut'}": by(2),
      "berth_binds_total{ending='superseded'}": by(3),
      "berth_binds_total{ending='bound'}": by(7),
    },
  },
  BerthBindsWaitLong: {
    fires: {
      "berth_bind_wait_seconds_bucket{le='65.536'}": by(5),
      "berth_bind_wait_seconds_bucket{le='262.144'}": by(10),
      "berth_bind_wait_seconds_bucket{le='+Inf'}": by(10),
    },
    says: "One bind in ten waits longer than 3m 42s after its last write. The PV controller or a provisioner is slow.",
    silent: {
      "berth_bind_wait_seconds_bucket{le='16.384'}": by(10),
      "berth_bind_wait_seconds_bucket{le='+Inf'}": by(10),
    },
  },
  BerthBindsNearLimit: {
    fires: {
      "berth_binds_in_progress{instance='a'}": always(900),
      "berth_limit{instance='a',limit='binds'}": always(1000),
    },
    labels: { instance: "a" },
    says: "90% of binding.inProgressMax are taken. Beyond it binds wait, and then are answered with an Error.",
    silent: {
      "berth_binds_in_progress{instance='a'}": always(800),
      "berth_limit{instance='a',limit='binds'}": always(1000),
    },
  },
  BerthProvisionerRefuses: {
    fires: { berth_provisioner_refusals_total: by(1) },
    says: "Claims of binds that were given back in 15 minutes: 15. What drivers publish is more than they have, or they fail.",
    silent: { berth_provisioner_refusals_total: "0x50 5x60" },
  },
  BerthWritesFailing: {
    fires: {
      "berth_write_duration_seconds_count{write='binding',result='refused'}": by(2),
      "berth_write_duration_seconds_count{write='binding',result='ok'}": by(8),
    },
    labels: { write: "binding" },
    says: "20% of the writes of binding were refused, throttled or had no answer.",
    silent: {
      "berth_write_duration_seconds_count{write='claimRef',result='conflict'}": by(9),
      "berth_write_duration_seconds_count{write='claimRef',result='refused'}": by(1),
    },
  },
  BerthPodsWaiting: {
    fires: { "berth_pods_waiting{instance='a'}": always(2), "berth_pods_waiting{instance='b'}": always(0) },
    says: "For 30 minutes there were Pods that are refused on every node, now 2. /debug/explain says what would help.",
    silent: { "berth_pods_waiting{instance='a'}": "2x40 0 2x60" },
  },
  BerthWatchStale: {
    fires: { "berth_watch_age_seconds{kind='volume'}": "0x50 60+60x60" },
    labels: { kind: "volume" },
    says: "The watch of volume was silent for 10m 0s. After cache.staleAfter (150 s) Pods with claims are answered with an Error.",
    silent: { "berth_watch_age_seconds{kind='volume'}": always(120) },
  },
  BerthRelisting: {
    fires: { "berth_lists_total{instance='a',kind='pod'}": "1x30 1+1x60" },
    labels: { instance: "a", kind: "pod" },
    says: "a took 29 whole lists in 30 minutes. Watches expire, or the API server is restarted often.",
    silent: { "berth_lists_total{instance='a',kind='pod'}": "1x50 2 3 4x60" },
  },
  BerthObjectsUnreadable: {
    fires: { "berth_objects_set_aside_total{kind='volume'}": "0x20 1x60" },
    labels: { kind: "volume" },
    says: "An object of kind volume was set aside in the last hour. Pods that need it are answered with an Error; the log names it.",
    silent: { "berth_objects_set_aside_total{kind='volume'}": always(3) },
  },
  BerthNodeCapacityUnreadable: {
    fires: { berth_node_capacities_unreadable: always(3) },
    says: "Nodes on which the annotation or resource that classes[].capacity names cannot be read: 3. Nothing of the class is provisioned there.",
    silent: { berth_node_capacities_unreadable: "0x50 3x60" },
  },
  BerthNoLeader: {
    fires: { "berth_leading{instance='a'}": always(0), "berth_leading{instance='b'}": always(0) },
    says: 'For 2 minutes no Berth led. Refused Pods are not woken, and with leaderElection.mode "answers" no Pod with a claim is answered.',
    silent: { "berth_ready{instance='a'}": always(1) },
  },
  BerthSeveralLeaders: {
    fires: { "berth_leading{instance='a'}": always(1), "berth_leading{instance='b'}": always(1) },
    says: "2 Berths say that they hold the Lease. Of those that share one, one at most may; Berths with Leases of their own need a rule each.",
    silent: { "berth_leading{instance='a'}": always(1), "berth_leading{instance='b'}": always(0) },
  },
  BerthLeaderChanges: {
    fires: { "berth_leads_lost_total{instance='a'}": "0x20 2x60", "berth_leads_lost_total{instance='b'}": "0x20 2x60" },
    says: "The Lease was lost 4 times in an hour. The API server is slow, or Berth lacks CPU.",
    silent: { "berth_leads_lost_total{instance='a'}": "0x20 2x60" },
  },
  BerthLeaseFailing: {
    fires: { "berth_lease_failures_total{instance='a'}": by(2) },
    labels: { instance: "a" },
    says: "At a 20 reads and writes of the Lease failed in 10 minutes. A right may be missing.",
    silent: { "berth_lease_failures_total{instance='a'}": by(1) },
  },
  BerthCertificateExpires: {
    fires: { "berth_tls_certificate_expiry_timestamp_seconds{listener='extender'}": always(3600 + 3 * 86_400) },
    labels: { listener: "extender" },
    says: "It ends in 3d 0h 0m 0s and has not been renewed.",
    silent: { "berth_tls_certificate_expiry_timestamp_seconds{listener='extender'}": always(3600 + 7 * 86_400) },
  },
  BerthCertificateExpiresSoon: {
    fires: { "berth_tls_certificate_expiry_timestamp_seconds{listener='debug'}": always(3600 + 7_200) },
    labels: { listener: "debug" },
    says: "It ends in 2h 0m 0s. After that kube-scheduler's calls fail.",
    silent: { "berth_tls_certificate_expiry_timestamp_seconds{listener='debug'}": always(3600 + 86_400) },
  },
  BerthTlsReloadRefused: {
    fires: { "berth_tls_reloads_total{listener='debug',outcome='refused'}": "0x50 1x60" },
    labels: { listener: "debug" },
    says: "The files of the debug listener changed and cannot be used; the old certificate serves on. The log says why.",
    silent: { "berth_tls_reloads_total{listener='debug',outcome='renewed'}": "0x50 1x60" },
  },
  BerthCallersRefused: {
    fires: { "berth_callers_refused_total{listener='debug',cause='forbidden'}": by(12) },
    labels: { listener: "debug", cause: "forbidden" },
    says: "On the debug listener 0.2 requests a second are of callers who may not ask: forbidden.",
    silent: { "berth_callers_refused_total{listener='debug',cause='forbidden'}": by(6) },
  },
  BerthConnectionsTurnedAway: {
    fires: { "berth_connections_turned_away_total{listener='extender',cause='handshake'}": by(12) },
    labels: { listener: "extender", cause: "handshake" },
    says: "0.2 connections a second to the extender listener end before a request: handshake.",
    silent: { "berth_connections_turned_away_total{listener='extender',cause='handshake'}": by(6) },
  },
  BerthVolumesFailed: {
    fires: {
      "berth_volumes{instance='a',class='fast',phase='Failed'}": always(2),
      "berth_volumes{instance='b',class='fast',phase='Failed'}": always(2),
    },
    labels: { class: "fast" },
    says: "PersistentVolumes in phase Failed: 2. They could not be deleted or recycled, and nobody can use them.",
    silent: { "berth_volumes{class='fast',phase='Released'}": always(2) },
  },
  BerthReleasedVolumeOld: {
    fires: { "berth_oldest_released_volume_timestamp_seconds{class='fast'}": always(-8 * 86_400) },
    labels: { class: "fast" },
    says: "A PersistentVolume has been Released for 8d 1h 0m 0s. Its data is kept, and its space is lost to others until somebody decides.",
    silent: { "berth_oldest_released_volume_timestamp_seconds{class='fast'}": always(-6 * 86_400) },
  },
  BerthClaimsLost: {
    fires: { "berth_claims{class='fast',phase='lost'}": always(1) },
    labels: { class: "fast" },
    says: "Claims that are Lost: 1. The volumes that they were bound to are gone.",
    silent: { "berth_claims{class='fast',phase='pending'}": always(1) },
  },
  BerthDriverMissing: {
    fires: { "berth_driver_nodes{class='dyn'}": always(5), "berth_driver_missing_nodes{class='dyn'}": always(1) },
    labels: { class: "dyn" },
    says: "Nodes that the class admits and on which its CSI driver is not registered: 1. Pods with its claims are refused there.",
    silent: { "berth_driver_nodes{class='dyn'}": always(5), "berth_driver_missing_nodes{class='dyn'}": always(5) },
  },
  BerthDriverAbsent: {
    fires: { "berth_driver_nodes{class='dyn'}": always(5), "berth_driver_missing_nodes{class='dyn'}": always(5) },
    labels: { class: "dyn" },
    says: "Of the 5 nodes that the class admits none has its CSI driver registered. Nothing of the class can be mounted.",
    silent: {
      "berth_driver_nodes{class='dyn'}": always(5),
      "berth_driver_missing_nodes{class='dyn'}": always(4),
      "berth_driver_nodes{class='nowhere'}": always(0),
      "berth_driver_missing_nodes{class='nowhere'}": always(0),
    },
  },
  BerthClassOutOfVolumes: {
    fires: {
      "berth_claims{instance='a',class='local',phase='pending'}": always(3),
      "berth_class_info{instance='a',class='local',provisioning='static',binding='WaitForFirstConsumer'}": always(1),
      "berth_free_volumes{instance='a',class='other'}": always(9),
    },
    labels: { class: "local" },
    says: "Claims that are pending: 3. Nobody provisions volumes of the class, and none is free.",
    silent: {
      "berth_claims{class='local',phase='pending'}": always(3),
      "berth_class_info{class='local',provisioning='static',binding='WaitForFirstConsumer'}": always(1),
      "berth_free_volumes{class='local'}": always(1),
      "berth_claims{class='dyn',phase='pending'}": always(3),
      "berth_class_info{class='dyn',provisioning='dynamic',binding='WaitForFirstConsumer'}": always(1),
    },
  },
  BerthCapacityLow: {
    fires: { "berth_pool_free_bytes{class='lvm'}": always(5), "berth_pool_volumes_bytes{class='lvm'}": always(95) },
    labels: { class: "lvm" },
    says: "5% of the capacity of the class is left to provision, over all nodes.",
    silent: {
      "berth_pool_free_bytes{class='lvm'}": always(10),
      "berth_pool_volumes_bytes{class='lvm'}": always(90),
      "berth_pool_free_bytes{class='empty'}": always(0),
      "berth_pool_volumes_bytes{class='empty'}": always(0),
    },
  },
};
